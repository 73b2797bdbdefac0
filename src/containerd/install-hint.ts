/** How to get containerd on the distribution that this /etc/os-release describes, as one sentence. */
export function generateInstallHint(osRelease: string): string {
  const ids = distributionIds(osRelease);
  const known = instructions.find(({ id }) => ids.includes(id));
  return known === undefined
    ? 'Install containerd, runc and the CNI plugins with the package manager of this machine.'
    : `Install it with: ${known.command}`;
}

const instructions: readonly { id: string; command: string }[] = [
  { id: 'debian', command: 'apt-get install containerd runc containernetworking-plugins' },
  { id: 'ubuntu', command: 'apt-get install containerd runc containernetworking-plugins' },
  {
    id: 'rhel',
    command: "dnf install containerd.io containernetworking-plugins (containerd.io is in Docker's repository)",
  },
  { id: 'fedora', command: 'dnf install containerd runc containernetworking-plugins' },
  { id: 'alpine', command: 'apk add containerd containerd-ctr runc cni-plugins' },
  { id: 'suse', command: 'zypper install containerd containerd-ctr runc cni-plugins' },
  { id: 'arch', command: 'pacman -S containerd runc cni-plugins' },
];

/** ID first, then what it is like: Rocky says `ID="rocky"` and `ID_LIKE="rhel centos fedora"`. */
function distributionIds(osRelease: string): string[] {
  const valueOf = (key: string): string => new RegExp(`^${key}=["']?([^"'\n]*)`, 'm').exec(osRelease)?.[1] ?? '';
  return `${valueOf('ID')} ${valueOf('ID_LIKE')}`.split(/\s+/).filter((id) => id !== '');
}
