"""Throw-away certificates: an authority, and what it signs for schedulers, workers and clients."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import distributed
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Certificates:
    """Files of one certificate, its key, and an authority to trust."""

    def __init__(self, ca: Path, certificate: Path, key: Path) -> None:
        self.ca, self.certificate, self.key = ca, certificate, key

    def security(self) -> distributed.Security:
        ca, certificate, key = map(str, (self.ca, self.certificate, self.key))
        return distributed.Security(
            require_encryption=True, tls_ca_file=ca, tls_client_cert=certificate, tls_client_key=key
        )

    def options(self) -> list[str]:
        """Of the commands `dask scheduler` and `dask worker`."""
        files = [("ca-file", self.ca), ("cert", self.certificate), ("key", self.key)]
        return [word for name, path in files for word in (f"--tls-{name}", str(path))]

    def environ(self) -> dict[str, str]:
        """Dask's settings for a client."""
        files = {"CA_FILE": self.ca, "CLIENT__CERT": self.certificate, "CLIENT__KEY": self.key}
        return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(path) for name, path in files.items()}

    def settings(self) -> dict[str, str]:
        """As :meth:`environ`, for ``dask.config.set``."""
        files = {"ca-file": self.ca, "client.cert": self.certificate, "client.key": self.key}
        return {f"distributed.comm.tls.{name}": str(path) for name, path in files.items()}


class Authority:
    """A certificate authority with its files in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, folder.name)])
        self.path = folder / "ca.pem"
        now = datetime.now(UTC)
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        built = self._builder(self._name, self._key, now - DAY, now + DAY).add_extension(constraints, critical=True)
        self.path.write_bytes(built.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def sign(self, name: str, expired: bool = False, trusted: Authority | None = None) -> Certificates:
        """A new certificate and key; of a holder that trusts ``trusted``, by default this authority."""
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
        holder = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        built = self._builder(holder, key, now - 2 * DAY, now - DAY if expired else now + DAY)
        certificate, file = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        certificate.write_bytes(built.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        secret = serialization.NoEncryption()
        file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret))
        return Certificates((trusted or self).path, certificate, file)

    def _builder(
        self, holder: x509.Name, key: ec.EllipticCurvePrivateKey, begin: datetime, end: datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(holder)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
        )
