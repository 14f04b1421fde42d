"""What /etc says about the distribution, in the words manifests ask for."""

import pytest

from reactor.facts.host import Distribution, distribution

SAMPLES = [
    # os-release, other files in /etc, platform, family, version
    ("ID=debian\nVERSION_ID='12'", {"debian_version": "12.11\n"}, ("debian", "debian", "12.11")),
    ("ID=debian", {"debian_version": "forky/sid\n"}, ("debian", "debian", "forky/sid")),
    ('ID=ubuntu\nVERSION_ID="24.04"', {"debian_version": "trixie/sid\n"}, ("ubuntu", "debian", "24.04")),
    ('ID=linuxmint\nVERSION_ID="21.3"', {}, ("linuxmint", "debian", "21.3")),
    ("ID=raspbian\nVERSION_ID=11", {"debian_version": "11.9\n"}, ("raspbian", "debian", "11.9")),
    ("ID=kylin\nVERSION_ID=V10", {}, ("Kylin", "debian", "V10")),
    ("ID=uos\nVERSION_ID=20", {}, ("uos", "debian", "20")),
    ("ID=deepin\nVERSION_ID=23", {}, ("Deepin", "debian", "23")),
    ("ID=cumulus-linux\nVERSION_ID=5.9.1", {}, ("cumuluslinux", "debian", "5.9.1")),
    (
        'ID="rhel"\nVERSION_ID="9.4"',
        {"redhat-release": "Red Hat Enterprise Linux release 9.4 (Plow)\n"},
        ("redhat", "rhel", "9.4"),
    ),
    (
        'ID="ol"\nVERSION_ID="9.3"',
        {"redhat-release": "Red Hat ... release 9.3 (Plow)"},
        ("oracle", "rhel", "9.3"),
    ),
    (
        'ID="centos"\nVERSION_ID="7"',
        {"redhat-release": "CentOS Linux release 7.9.2009 (Core)"},
        ("centos", "rhel", "7.9.2009"),
    ),
    (
        'ID="rocky"\nVERSION_ID="9.3"',
        {"redhat-release": "Rocky Linux release 9.3 (Blue Onyx)"},
        ("rocky", "rhel", "9.3"),
    ),
    ('ID="almalinux"\nVERSION_ID="8.9"', {}, ("almalinux", "rhel", "8.9")),
    ('ID="scientific"\nVERSION_ID="7.9"', {}, ("scientific", "rhel", "7.9")),
    ('ID="cloudlinux"\nVERSION_ID="8.8"', {}, ("cloudlinux", "rhel", "8.8")),
    (
        'ID="amzn"\nVERSION_ID="2023"',
        {"system-release": "Amazon Linux release 2023.4 (Amazon Linux)"},
        ("amazon", "rhel", "2023.4"),
    ),
    ("ID=fedora\nVERSION_ID=40", {"redhat-release": "Fedora release 40 (Forty)"}, ("fedora", "fedora", "40")),
    ('ID="opensuse-leap"\nVERSION_ID="15.5"', {}, ("opensuse-leap", "suse", "15.5")),
    ('ID="opensuse-tumbleweed"\nVERSION_ID="20260101"', {}, ("opensuse-tumbleweed", "suse", "20260101")),
    ('ID="sles"\nVERSION_ID="15.6"', {}, ("sles", "suse", "15.6")),
    ('ID="sled"\nVERSION_ID="15.6"', {}, ("sled", "suse", "15.6")),
    ("ID=alpine\nVERSION_ID=3.19.1", {"alpine-release": "3.19.1\n"}, ("alpine", "alpine", "3.19.1")),
    ("ID=arch", {}, ("arch", "arch", "")),
    ("ID=gentoo\nVERSION_ID=2.15", {}, ("gentoo", "gentoo", "2.15")),
    ("ID=slackware\nVERSION_ID=15.0", {}, ("slackware", "slackware", "15.0")),
    ('ID="solus"\nVERSION_ID="4.5"', {}, ("solus", "solus", "4.5")),
    ('ID="anolis"\nVERSION_ID="8.8"', {}, ("anolis", "anolis", "8.8")),
    # Not in the list: what it is like decides, then its own name.
    ('ID=pop\nID_LIKE="ubuntu debian"\nVERSION_ID="22.04"', {}, ("pop", "debian", "22.04")),
    ('ID=eurolinux\nID_LIKE="rhel fedora centos"\nVERSION_ID=9', {}, ("eurolinux", "rhel", "9")),
    ("ID=manjaro\nID_LIKE=arch", {}, ("manjaro", "arch", "")),
    ("ID=nixos\nVERSION_ID='24.05'", {}, ("nixos", "nixos", "24.05")),
]


@pytest.mark.parametrize(
    ("release", "others", "wanted"), SAMPLES, ids=[wanted[0] for _, _, wanted in SAMPLES]
)
def test_a_distribution_is_known_by_its_files(tmp_path, release, others, wanted):
    for name, text in {"os-release": release, **others}.items():
        (tmp_path / name).write_text(text)
    assert distribution(str(tmp_path)) == Distribution(*wanted)


def test_without_any_file_all_is_empty(tmp_path):
    assert distribution(str(tmp_path / "etc")) == Distribution("", "", "")


def test_os_release_may_be_in_usr_lib_only(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/os-release").write_text("ID=arch\n")
    assert distribution(str(tmp_path / "etc")).platform == "arch"


def test_a_line_that_is_no_assignment_spoils_nothing(tmp_path):
    (tmp_path / "os-release").write_text("# comment\n\nNAME='unclosed\nID=debian\n")
    assert distribution(str(tmp_path)).platform == "debian"
