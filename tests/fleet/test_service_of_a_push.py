"""`reactor push --stay` installs a service on the host, or says that it could not."""

import pytest

from reactor.cli.running.following import install_service
from reactor.control.protocol import RefusedError


def test_a_service_that_is_not_installed_is_an_error_of_the_push(tmp_path):
    facts, manifest = tmp_path / "facts.json", tmp_path / "invalid.yaml"
    facts.write_text("{}")
    manifest.write_text("resources: [{nosuch: []}]")
    with pytest.raises(RefusedError, match="can't be installed"):
        install_service(str(manifest), str(facts), str(tmp_path / "state"))
