"""What the nodes of a job show each other, so that no stranger takes part.

At a file, its content is the secret. At an address it is D2LRUN_SECRET, or
what `~/.d2lrun/secret` holds, which is made when it is first needed. It is
never sent: each side proves that it has it, for a number that the other chose.
"""

from __future__ import annotations

import hmac
import os
import pathlib
import secrets

SECRET = 'D2LRUN_SECRET'  # the variable


def find_secret() -> str:
    """Return the secret of this user; ValueError if there can be none."""
    named = os.environ.get(SECRET)
    if named:
        return named
    try:
        path = pathlib.Path.home() / '.d2lrun' / 'secret'
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            write_new(path, secrets.token_hex(16))
        if path.stat().st_mode & 0o077:
            raise ValueError(
                f'others may read the secret in {path}: `chmod 600 {path}`, '
                'and replace it if they have'
            )
        secret = path.read_text().strip()
    except (OSError, RuntimeError) as error:  # no home
        raise ValueError(
            f'there is no place for a secret ({error}): set {SECRET}, to the '
            'same text on all nodes'
        ) from None
    if not secret:
        raise ValueError(f'{path} is empty: delete it')
    return secret


def write_new(path: pathlib.Path, text: str) -> bool:
    """Write a new file that only this user can read, and that appears whole;
    return whether there was none. Raises OSError if it cannot be written."""
    part = path.with_name(f'{path.name}.{secrets.token_hex(8)}')
    descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with open(descriptor, 'w', encoding='utf-8') as file:
            file.write(text)
        os.link(part, path)  # unlike a rename, it replaces no file
    except FileExistsError:
        return False
    finally:
        part.unlink()
    return True


def new_challenge() -> str:
    """Return a text that nobody has used before."""
    return secrets.token_hex(16)


def prove(secret: str, purpose: str, *challenges: str) -> str:
    """Return the proof of having the secret, for these challenges."""
    message = ' '.join([purpose, *challenges]).encode()
    return hmac.new(secret.encode(), message, 'sha256').hexdigest()


def is_proof(proof: str, secret: str, purpose: str, *challenges: str) -> bool:
    """Return whether this is that proof."""
    right = prove(secret, purpose, *challenges)
    return hmac.compare_digest(proof.encode(errors='replace'), right.encode())
