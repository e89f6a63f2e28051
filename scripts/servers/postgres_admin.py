"""Roles and databases of a Postgres server, as its superuser, with the wheel's `psql`."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from scripts.servers import binaries
from scripts.servers.errors import ServerError

OWNER = "muniment_owner"
APPLICATION = "muniment_gateway"
GROUP = "muniment_app"
_ROLES_LOCK = 0x726F6C6573


@dataclass(frozen=True, slots=True)
class Roles:
    """The owner migrates and owns the tables; the application is a member of the group and owns nothing."""

    owner: str = OWNER
    application: str = APPLICATION
    group: str = GROUP


@dataclass(frozen=True, slots=True)
class PostgresAdmin:
    """What the superuser does. `url` names the server and the superuser; errors are `ServerError`."""

    url: str
    psql: Path = field(default_factory=lambda: binaries.postgres_folder() / "bin" / "psql")

    def url_of(self, database: str, user: str | None = None, password: str | None = None) -> str:
        """The same server with another database, and another user where one is given."""
        parts = urlsplit(self.url)
        place = parts.netloc.rpartition("@")[2]
        netloc = parts.netloc if user is None else f"{_credentials(user, password)}@{place}"
        return urlunsplit((parts.scheme, netloc, f"/{quote(database)}", parts.query, ""))

    def execute(self, sql: str, database: str = "postgres") -> str:
        """Run statements in one connection; what they return comes as text, a row a line, columns apart by `|`."""
        url, password = _apart(self.url_of(database))
        command = [str(self.psql), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url]
        # Nothing of the caller's surroundings decides how we connect; a command line would show the password.
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        if password is not None:
            surroundings["PGPASSWORD"] = password
        done = subprocess.run(
            command, input=sql, capture_output=True, text=True, env=surroundings, check=False
        )
        if done.returncode:
            raise ServerError(f"psql failed: {done.stderr.strip()}")
        return done.stdout.strip()

    def create_roles(self, password: str | None = None, roles: Roles = Roles()) -> None:
        """The roles where they are missing, both logins with the password."""
        group, owner, application = _name(roles.group), _name(roles.owner), _name(roles.application)
        self.execute(
            # Several test workers may set up a given server at once, and roles cannot be changed side by side.
            f"SELECT pg_advisory_lock({_ROLES_LOCK});"
            + _create_role(roles.group, "NOLOGIN")
            + _create_role(roles.owner, "LOGIN CREATEROLE")
            + _create_role(roles.application, "LOGIN")
            + f"ALTER ROLE {owner} PASSWORD {_literal(password)};"
            f"ALTER ROLE {application} PASSWORD {_literal(password)};"
            f"GRANT {group} TO {application};"
            # A migration as the owner may have made the group, and then it grants to it.
            f"GRANT {group} TO {owner} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE"
        )

    def create_database(self, name: str, owner: str = OWNER) -> None:
        """An empty database with pgvector; one of the same name is dropped first."""
        self.drop_database(name)
        self.execute(f"CREATE DATABASE {_name(name)} OWNER {_name(owner)} TEMPLATE template0")
        self.execute("CREATE EXTENSION vector", name)

    def has_database(self, name: str) -> bool:
        """Whether there is one of that name."""
        return name in self.execute("SELECT datname FROM pg_database").splitlines()

    def drop_database(self, name: str) -> None:
        """Remove it with everything in it, also from under connections."""
        self.execute(f"DROP DATABASE IF EXISTS {_name(name)} WITH (FORCE)")


def server_url(host: str, port: int, database: str, user: str, password: str | None) -> str:
    """`postgresql://user[:password]@host:port/database`."""
    return f"postgresql://{_credentials(user, password)}@{host}:{port}/{quote(database)}"


def _apart(url: str) -> tuple[str, str | None]:
    """The URL without its password, and the password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url, None
    credentials, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{credentials.partition(':')[0]}@{place}")), unquote(
        parts.password
    )


def _credentials(user: str, password: str | None) -> str:
    return quote(user, safe="") if password is None else f"{quote(user, safe='')}:{quote(password, safe='')}"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def _create_role(name: str, attributes: str) -> str:
    return f"DO $$ BEGIN CREATE ROLE {_name(name)} {attributes}; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
