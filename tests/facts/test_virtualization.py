"""The traces that hypervisors and containers leave."""

import pytest

from reactor.facts.host import virtualization

VENDOR, PRODUCT = "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"
WORLDS = [
    ({}, ("", "")),
    ({".dockerenv": ""}, ("docker", "guest")),
    ({"run/.containerenv": ""}, ("podman", "guest")),
    ({"proc/1/environ": "PATH=/bin\0container=lxc\0"}, ("lxc", "guest")),
    ({"proc/self/cgroup": "4:memory:/docker/0123\n"}, ("docker", "guest")),
    ({"proc/self/cgroup": "4:memory:/lxc/web\n"}, ("lxc", "guest")),
    ({"proc/self/cgroup": "0::/user.slice\n"}, ("", "")),
    ({"proc/vz/version": "", "proc/bc/0": ""}, ("openvz", "host")),
    ({"proc/vz/version": ""}, ("openvz", "guest")),
    ({"proc/xen/capabilities": "control_d\n"}, ("xen", "host")),
    ({"sys/hypervisor/type": "xen\n"}, ("xen", "guest")),
    ({PRODUCT: "VirtualBox\n", VENDOR: "innotek GmbH\n"}, ("vbox", "guest")),
    ({VENDOR: "VMware, Inc.\n"}, ("vmware", "guest")),
    ({VENDOR: "Microsoft Corporation\n", PRODUCT: "Virtual Machine\n"}, ("hyperv", "guest")),
    ({VENDOR: "Microsoft Corporation\n", PRODUCT: "Surface Laptop\n"}, ("", "")),
    ({VENDOR: "QEMU\n"}, ("kvm", "guest")),
    ({VENDOR: "Amazon EC2\n"}, ("kvm", "guest")),
    ({VENDOR: "Google\n", PRODUCT: "Google Compute Engine\n"}, ("kvm", "guest")),
    ({VENDOR: "Google\n", PRODUCT: "Chromebook\n"}, ("", "")),
    ({"proc/cpuinfo": "flags\t\t: fpu hypervisor lm\n"}, ("", "guest")),
    ({"proc/modules": "kvm_amd 1 0 - Live 0x0\n"}, ("kvm", "host")),
    ({"proc/modules": "vboxdrv 1 0 - Live 0x0\n"}, ("vbox", "host")),
    ({"proc/modules": "kvm_amd 1 0 - Live 0x0\n", VENDOR: "QEMU\n"}, ("kvm", "guest")),
    ({".dockerenv": "", VENDOR: "QEMU\n"}, ("docker", "guest")),
]


@pytest.mark.parametrize(("files", "wanted"), WORLDS, ids=[", ".join(files) or "none" for files, _ in WORLDS])
def test_each_leaves_its_trace_and_the_innermost_counts(tmp_path, files, wanted):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert virtualization(str(tmp_path)) == wanted
