"""The errors that users see, and their base class.

Every error of the tree has a ``message``, a ``hint`` on how to fix it, a ``place`` in a file where one is known, and a
stable ``code`` that ``reactor explain CODE`` explains. Each class is defined in the package that raises it::

    ReactorError
    ├── ManifestError               reactor.resource     the manifest can't be used; has all its diagnostics
    ├── InvalidPropertiesError      reactor.resource     the properties of a resource do not go together
    ├── ResourceError               reactor.resource     a resource could not be observed or changed
    │   ├── ChangedFileError        reactor.hostfs       another program changed a file before it was replaced
    │   └── GroupError              reactor.resource     several resources could not be changed in one batch
    ├── FunctionError               reactor.language     an operator or a function failed, at a place not known yet
    │   └── Fault                   reactor.language     an operator or a function failed in a template
    │       └── LimitFault          reactor.language     a template exceeds a limit of time, memory or size
    ├── ExpressionError             reactor.language     an expression is wrong, or failed
    │   └── ExpressionSyntaxError   reactor.language     an expression can't be parsed
    ├── TemplateError               reactor.language     a template failed
    │   └── TemplateSourceError     reactor.language     a template can't be compiled, or uses an unknown name
    ├── DistrustedError             reactor.trust        an untrusted user could change a file; also an OSError
    ├── UnpackingError              reactor.unpacking    an archive is damaged or unsafe
    ├── DownloadError               reactor.source       a manifest or data could not be downloaded
    ├── RoleError                   reactor.roles        a role can't be fetched, or is not what was locked
    ├── HttpError                   reactor.http         an HTTP request failed
    │   ├── ConnectionLostError     reactor.http         the connection broke
    │   └── TooLargeError           reactor.http         the body is too large
    ├── StateDirectoryError         reactor.journal      the state directory can't be used
    ├── LockedError                 reactor.journal      another run uses the state directory
    ├── HistoryError                reactor.journal      the journal can't be read
    │   └── NoHistoryError          reactor.journal      there is no journal
    ├── NoRunError                  reactor.control      no run is active
    ├── RefusedError                reactor.control      a run, or the operating system, refuses a request
    ├── UnknownNameError            reactor.control      no resource of the run has that name
    ├── BadRequestError             reactor.control      a request to a run is invalid
    ├── NoPausesError               reactor.control      the run has no state directory, so nothing can be paused
    ├── TooManyReadersError         reactor.control      too many readers of the event stream
    ├── AddressError                reactor.control      an address can't be used for listening; also a ValueError
    ├── DrawingError                reactor.ui           the graph can't be drawn for the live page
    ├── InstallationError           reactor.service      the service can't be installed or removed
    │   └── StartError              reactor.service      the service is installed, and does not start
    ├── PackingError                reactor.fleet        a directory can't be packed into a bundle
    ├── BundleError                 reactor.fleet        a bundle is damaged, unsafe, or not the announced one
    │   ├── NotNowError             reactor.fleet        a bundle can't be taken now; it may be later
    │   │   └── NoRoomError         reactor.fleet        the disk has no room for a bundle
    │   └── StoreLockedError        reactor.fleet        another process changes the bundles of this host
    ├── InventoryError              reactor.fleet        an inventory or a host pattern can't be used
    ├── RequestFormError            reactor.fleet        stdin has no request of `reactor push`
    ├── DocumentError               reactor.fleet        a document of the fleet is damaged or too large
    ├── WavesError                  reactor.fleet        the waves, the gate or the windows are written wrong
    ├── WhereError                  reactor.fleet        an expression that chooses hosts can't be read
    ├── RolloutError                reactor.fleet        a rollout can't be changed in this way now
    ├── ReleaseError                reactor.fleet        a release contradicts itself
    ├── SignatureError              reactor.fleet        a document is not signed as it must be
    ├── SignersError                reactor.fleet        the file of the people who may sign is wrong
    ├── ReleaseRefusedError         reactor.fleet        a host refuses a signed release
    ├── KeyringError                reactor.fleet        the keys of the fleet are missing or damaged
    ├── CardError                   reactor.fleet        a card or a secret is not signed with the card key
    ├── TokenError                  reactor.fleet        a token can't be used to join
    ├── NotAdmittedError            reactor.fleet        a host is not admitted
    ├── SecretRefusedError          reactor.fleet        a secret of the fleet can't be set or read
    ├── BackupError                 reactor.fleet        a backup of the fleet can't be written, read or restored
    ├── AgentConfigError            reactor.cli          the configuration of CCM's agent can't be used
    ├── SecretError                 reactor.secrets      a secret can't be read
    ├── SendError                   reactor.notify       a notification could not be sent
    ├── HostConfigError             reactor.fleet        the configuration of a host in a fleet is wrong
    ├── RequestError                reactor.ensure       a request over a pipe is invalid
    ├── UnknownNameError            reactor.ensure       no resource of the session has that name
    ├── LinkError                   reactor.fleet        something of the connection to NATS failed
    │   ├── UnreachableError        reactor.fleet        no connection to the server
    │   ├── IdentityError           reactor.fleet        the server refuses user, password, token or key
    │   │   └── ExpiredError        reactor.fleet        the JWT of the user has expired
    │   ├── TlsError                reactor.fleet        TLS is refused
    │   ├── ContextError            reactor.fleet        a context of the nats CLI, or a file it names, is unusable
    │   ├── DeniedError             reactor.fleet        the user may not publish or subscribe to a subject
    │   ├── DisconnectedError       reactor.fleet        there is no connection, or it broke before the answer came
    │   ├── NoAnswerError           reactor.fleet        the answer did not come in time
    │   │   └── NoRespondersError   reactor.fleet        nothing listens on the subject of a request
    │   ├── MissingError            reactor.fleet        the stream, bucket, key or object does not exist
    │   ├── ApiError                reactor.fleet        JetStream refuses a request
    │   │   ├── TooLargeError       reactor.fleet        a message is larger than the server takes
    │   │   └── WrongRevisionError  reactor.fleet        a key has another last revision than the writer expects
    │   ├── DamagedError            reactor.fleet        an object is not the one that its information describes
    │   └── ForeignServerError      reactor.fleet        the other side does not speak the protocol of NATS
    │       └── NoKeysError         reactor.fleet        the server knows no keys, so that credentials can't be used
    ├── RenameError                 reactor.lsp          a rename in an editor is refused
    └── GraphvizError               reactor.graph        Graphviz is missing, or failed

Errors of the command line come from Click; ``reactor.cli.messages`` adds their codes. Exceptions that users never see,
such as those that end a loop, derive from ``Exception``.
"""

from __future__ import annotations

from reactor.named_tuple import NamedTuple

MORE_FILES = "raise the limit of open files: ulimit -n, or LimitNOFILE= of the service"
"""The hint where the process may open no more files (EMFILE)."""


class Place(NamedTuple):
    """A position in a file. Lines and columns are counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class ReactorError(Exception):
    """An error that users see. Subclasses set the ``code``; a single error may have a more specific code."""

    code: str

    def __init__(
        self, message: str, hint: str | None = None, *, place: Place | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.place = place
        if code is not None:
            self.code = code


def first_of(error: BaseException) -> BaseException:
    """The first error in a group of errors, which may contain groups; any other error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def reason_of(error: BaseException) -> str:
    """The first error of a group, or any other error, with its type."""
    first = first_of(error)
    return f"{type(first).__name__}: {first}"
