"""The rules of other files, which goss calls ``gossfile``. They are read at every look."""

from __future__ import annotations

import glob
import os

import yaml
from pydantic import ValidationError

from reactor import DistrustedError, ResourceError, fragile_mounts, open_input
from resources.health.goss.rule import Rule
from resources.health.goss.rules import Rules


async def every_rule(rules: Rules, *chain: str) -> list[tuple[str, str, Rule]]:
    """The rules and those of their gossfiles, but for what is skipped: kind, key and rule.

    ``chain`` are the files that lead here. Raises ResourceError for a file that is missing, wrong or within itself.
    """
    found = [(kind, key, rule) for kind, key, rule in rules.all() if not rule.skip]
    for key, gossfile in rules.gossfile.items():
        if not gossfile.skip:
            for path in await _paths(gossfile.file or key, os.path.dirname(chain[-1]) if chain else "/"):
                if path in chain:
                    raise ResourceError(f"the gossfile {path} includes itself")
                found += await every_rule(_read(path), *chain, path)
    return found


async def _paths(pattern: str, directory: str) -> list[str]:
    whole = os.path.join(directory, pattern)
    await fragile_mounts().ask(whole)
    if not (found := sorted(glob.glob(whole))):
        raise ResourceError(f"there is no gossfile {whole}")
    return found


def _read(path: str) -> Rules:
    try:
        with open(path, encoding="utf-8", opener=open_input) as file:
            return Rules.model_validate(yaml.load(file, yaml.CSafeLoader) or {})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ResourceError(f"the gossfile {path} can't be used: {where}: {first['msg']}") from error
    except DistrustedError as error:  # its rules have commands in them
        raise ResourceError(f"the gossfile {path} can't be trusted: {error}", error.hint) from error
    except (yaml.YAMLError, UnicodeError, OSError) as error:
        raise ResourceError(f"the gossfile {path} can't be read: {error}") from error
