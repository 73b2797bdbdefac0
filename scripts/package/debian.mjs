// Builds the Debian package of an executable with dpkg-deb.
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';

const root = join(import.meta.dirname, '../..');

/**
 * The scripts that apt runs. Pods, their data and the root-dir always stay: only `kubelet-ts down` and rm remove them.
 */
const scripts = (version) => ({
  preinst: `#!/bin/sh
set -e
# The guard of the service restores it. A program that never became healthy is not worth going back to.
on_trial() { ls /usr/bin/kubelet-ts.previous && ls /usr/bin/kubelet-ts.pending-*; }
if [ "$1" = upgrade ] && [ -f /usr/bin/kubelet-ts ] && ! on_trial >/dev/null 2>&1; then
  ln -f /usr/bin/kubelet-ts /usr/bin/kubelet-ts.previous
fi
`,
  postinst: `#!/bin/sh
set -e
if [ "$1" = configure ] && [ -n "$2" ] && [ -f /usr/bin/kubelet-ts.previous ]; then
  rm -f /usr/bin/kubelet-ts.pending-* /usr/bin/kubelet-ts.restored
  echo "$2 ${version}" > /usr/bin/kubelet-ts.pending-3
fi
# Pods keep running while the agent restarts. The service is disabled until somebody enables it.
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # Without waiting, because a service without its runtime is not ready.
  [ "$1" != configure ] || systemctl --no-block try-restart kubelet-ts.service
fi
`,
  prerm: `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now kubelet-ts.service
fi
`,
  postrm: `#!/bin/sh
set -e
if [ "$1" = remove ]; then
  rm -f /usr/bin/kubelet-ts.previous /usr/bin/kubelet-ts.pending-* /usr/bin/kubelet-ts.restored
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
if [ "$1" = purge ] && [ -d /var/lib/kubelet-ts ]; then
  echo "/var/lib/kubelet-ts stays, with the data of pods. Remove it by hand when no pod needs it."
fi
`,
});

const defaults = `# Flags of kubelet-ts run, beside those of its unit:
# KUBELET_EXTRA_ARGS="--node-ip=192.0.2.7"
`;

const control = ({ version, architecture, kibibytes }) => `Package: kubelet-ts
Version: ${version}
Architecture: ${architecture}
Maintainer: kubelet-ts developers <kubelet-ts@localhost>
Installed-Size: ${kibibytes}
Depends: libc6 (>= 2.28), libstdc++6
Recommends: containerd, runc, containernetworking-plugins, iptables, iproute2
Section: admin
Priority: optional
Description: runs Kubernetes Pods from files and URLs, without an API server
 The kubelet, alone: one program turns this machine into a node that runs
 static pods on a container runtime. It needs no cluster and no Node.js.
`;

/** Returns every file of the package except the executable: its path, text and mode. */
async function filesOf(executable) {
  const output = async (...words) => `${(await execa(executable, words)).stdout}\n`;
  const completion = (shell) => output('completion', shell);
  const unit = ['install-service', '--dry-run', '--init', 'systemd', '--program', '/usr/bin/kubelet-ts'];
  return {
    'usr/lib/systemd/system/kubelet-ts.service': await output(...unit),
    'usr/bin/kubelet-ts.guard': await output('__guard'),
    'etc/default/kubelet-ts': defaults,
    'usr/share/bash-completion/completions/kubelet-ts': await completion('bash'),
    'usr/share/zsh/vendor-completions/_kubelet-ts': await completion('zsh'),
    'usr/share/fish/vendor_completions.d/kubelet-ts.fish': await completion('fish'),
    'usr/share/doc/kubelet-ts/copyright': await output('licences'),
    'usr/share/doc/kubelet-ts/sbom.json': await output('licences', '--sbom'),
    ...(await manPages(executable)),
  };
}

/** Returns the manual pages of the program, its commands and their subcommands. */
async function manPages(executable) {
  const { stdout: names } = await execa(executable, ['__man', '--names']);
  const pages = names.split('\n').map(async (name) => {
    const { stdout } = await execa(executable, ['__man', ...name.split(' ').slice(1)]);
    return [`usr/share/man/man8/${name.replaceAll(' ', '-')}.8.gz`, gzipSync(`${stdout}\n`, { level: 9 })];
  });
  return Object.fromEntries(await Promise.all(pages));
}

/** Writes the package into the folder and returns its path. Compressing it takes a minute; tests use `none`. */
export async function makeDebianPackage(executable, folder, compression = 'xz') {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const architecture = (await execa('dpkg', ['--print-architecture'])).stdout;
  const tree = await mkdtemp(join(tmpdir(), 'kubelet-ts-debian-'));
  try {
    await chmod(tree, 0o755);
    for (const [path, content] of Object.entries(await filesOf(executable))) await write(tree, path, content, 0o644);
    await execa('install', ['-D', '-m', '0755', executable, join(tree, 'usr/bin/kubelet-ts')]);
    const [kibibytes] = (await execa('du', ['-sk', tree])).stdout.split('\t');
    await write(tree, 'DEBIAN/control', control({ version, architecture, kibibytes }), 0o644);
    await write(tree, 'DEBIAN/conffiles', '/etc/default/kubelet-ts\n', 0o644);
    for (const [name, script] of Object.entries(scripts(version))) await write(tree, `DEBIAN/${name}`, script, 0o755);
    const file = join(folder, `kubelet-ts_${version}_${architecture}.deb`);
    await execa('dpkg-deb', ['--root-owner-group', `-Z${compression}`, '--build', tree, file]);
    return file;
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

async function write(tree, path, content, mode) {
  const file = join(tree, path);
  await mkdir(dirname(file), { recursive: true, mode: 0o755 });
  await writeFile(file, content);
  await chmod(file, mode);
}
