import { expect, test } from 'vitest';
import { generateInstallHint } from '../../src/containerd/find-containerd.ts';

test.each([
  ['Debian', 'NAME="Debian GNU/Linux"\nID=debian\n', 'apt-get install'],
  ['a derivative of Ubuntu', 'ID=pop\nID_LIKE="ubuntu debian"\n', 'apt-get install'],
  ['Fedora', 'ID=fedora\n', 'dnf install containerd runc'],
  ['Rocky', 'ID="rocky"\nID_LIKE="rhel centos fedora"\n', 'dnf install containerd.io'],
  ['Alpine', 'ID=alpine\n', 'apk add containerd containerd-ctr'],
  ['openSUSE', 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', 'zypper install'],
])('reports how to install containerd on %s', (_, osRelease, command) => {
  expect(generateInstallHint(osRelease)).toContain(command);
});

test.each(['', 'ID=plan9\n'])('names the packages where the distribution is unknown: %j', (osRelease) => {
  expect(generateInstallHint(osRelease)).toBe(
    'Install containerd, runc and the CNI plugins with the package manager of this machine.',
  );
});
