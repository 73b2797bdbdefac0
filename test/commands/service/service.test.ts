import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { openRCScript } from '../../../src/commands/service/openrc-script.ts';
import { servicesOfProgram } from '../../../src/commands/service/services-of-program.ts';
import { systemdUnit } from '../../../src/commands/service/systemd-unit.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('the unit keeps the pods when the agent stops, and reads the flags of kubeadm', () => {
  expect(systemdUnit({ program: '/usr/bin/kubelet-ts' }, ['/etc/kubernetes/manifests'], 'kubelet-ts'))
    .toBe(`# Written by kubelet-ts install-service.
[Unit]
Description=kubelet-ts: runs Kubernetes Pods from files and URLs
Wants=network-online.target
After=network-online.target containerd.service crio.service
StartLimitIntervalSec=0

[Service]
Type=notify
# The agent extends it while it waits for a runtime that starts later, or loads image archives.
TimeoutStartSec=300
WatchdogSec=60
# Variables of kubeadm, and for flags of this machine. systemd warns about variables that are not set.
Environment=KUBELET_CONFIG_ARGS= KUBELET_KUBEADM_ARGS= KUBELET_EXTRA_ARGS=
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
EnvironmentFile=-/etc/default/kubelet-ts
# Returns freed memory to the system.
Environment=MALLOC_MMAP_THRESHOLD_=16384
ExecStart=/usr/bin/kubelet-ts run --no-tui /etc/kubernetes/manifests $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
# Reloads the configuration, certificates and tokens.
ExecReload=/bin/kill -HUP $MAINPID
# The pods and their containerd keep running without the agent.
KillMode=process
Restart=always
RestartSec=10
# Does not restart the agent after kubelet-ts down, which stopped its pods.
RestartPreventExitStatus=100
SuccessExitStatus=100
OOMScoreAdjust=-999
LimitNOFILE=1048576
TasksMax=infinity
Delegate=yes

[Install]
WantedBy=multi-user.target
`);
});

const guard = { script: '/opt/my tools/kubelet-ts.guard', program: '/opt/my tools/kubelet-ts' };

test('a unit runs the guard of upgrades before each start, and starts without it too', () => {
  const unit = systemdUnit({ program: '/usr/bin/kubelet', guard }, [], 'kubelet');
  expect(unit.match(/^ExecStart.*$/gm)).toEqual([
    'ExecStartPre=-/bin/sh "/opt/my tools/kubelet-ts.guard" "/opt/my tools/kubelet-ts"',
    expect.stringMatching(/^ExecStart=\/usr\/bin\/kubelet run --no-tui /) as string,
  ]);
});

test('supervise-daemon starts the guard each time, which becomes the agent', async () => {
  const lines = openRCScript({ program: '/usr/bin/kubelet', guard }, ['/srv/my pods'], 'kubelet').split('\n');
  const assigned = lines.filter((line) => line.startsWith('command')).join('\n');
  const script = `${assigned}\neval "set -- $command_args"\nprintf '%s\\n' "$command" "$@"`;
  const { stdout } = await execa('sh', ['-c', script]);
  const agent = ['/usr/bin/kubelet', 'run', '--no-tui', '/srv/my pods'];
  expect(stdout.split('\n')).toEqual(['/bin/sh', guard.script, guard.program, ...agent]);
});

test('the services that run a program are found by its name', async () => {
  const folder = await temporaryFolder();
  const program = '/usr/local/bin/kubelet-ts';
  const [own, ofPackages, openrc] = ['etc', 'usr', 'init.d'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [own, ofPackages, openrc]) await mkdir(path);
  const guarded = { program, guard: { script: `${program}.guard`, program } };
  await writeFile(join(own, 'fleet.service'), systemdUnit(guarded, [], 'fleet'));
  await writeFile(join(own, 'kubelet-ts.service'), systemdUnit({ program }, [], 'kubelet-ts'));
  await writeFile(join(own, 'other.service'), systemdUnit({ program: '/usr/bin/other' }, [], 'other'));
  await writeFile(join(own, 'foreign.service'), `[Service]\nExecStart=${program} run\n`);
  await writeFile(join(own, 'fleet.service.bak'), systemdUnit(guarded, [], 'fleet'));
  await writeFile(join(ofPackages, 'fleet.service'), systemdUnit({ program }, [], 'fleet'));
  await writeFile(join(openrc, 'edge'), openRCScript(guarded, [], 'edge'));
  const others = { previous: `${program}.previous`, copy: `/mnt${program}` };
  for (const [name, other] of Object.entries(others))
    await writeFile(join(own, `${name}.service`), systemdUnit({ program: other }, [], name));
  expect(await servicesOfProgram(program, { systemd: [own, '/nowhere', ofPackages], openrc: [openrc] })).toEqual([
    { init: 'systemd', name: 'fleet', isGuarded: true },
    { init: 'systemd', name: 'kubelet-ts', isGuarded: false },
    { init: 'openrc', name: 'edge', isGuarded: true },
  ]);
});

test('a unit of another name also reads the flags of that name', () => {
  const files = systemdUnit({ program: '/usr/bin/kubelet-ts' }, [], 'fleet').match(/(?<=^EnvironmentFile=-).*/gm);
  expect(files).toEqual([
    '/var/lib/kubelet/kubeadm-flags.env',
    ...['kubelet', 'kubelet-ts', 'fleet'].map((name) => `/etc/default/${name}`),
  ]);
});

test('a unit has a working directory only if it is given one', () => {
  const lines = (folder?: string): string[] =>
    systemdUnit({ program: '/usr/bin/kubelet-ts' }, ['pods'], 'kubelet-ts', folder).match(/^WorkingDirectory=.*/gm) ??
    [];
  expect(lines()).toEqual([]);
  expect(lines('/srv/my 100% pods')).toEqual(['WorkingDirectory=/srv/my 100%% pods']);
});

test('the OpenRC script gives supervise-daemon the folder as one word', async () => {
  const linesOf = (folder?: string): string =>
    (
      openRCScript({ program: '/usr/bin/kubelet-ts' }, ['pods'], 'kubelet-ts', folder).match(/^directory=.*/gm) ?? []
    ).join('\n');
  expect(linesOf()).toBe('');
  // As the script of OpenRC, supervise-daemon.sh.
  const { stdout } = await execa('sh', [
    '-c',
    `${linesOf("/srv/it's mine")}\neval printf "'%s\\n'" --chdir $directory`,
  ]);
  expect(stdout.split('\n')).toEqual(['--chdir', "/srv/it's mine"]);
});

test('a unit quotes words that systemd would change', () => {
  const [line] =
    /ExecStart=.*/.exec(
      systemdUnit({ program: '/opt/my tools/kubelet-ts' }, ['/srv/100%', '$HOME', 'a"b\\c'], 'kubelet-ts'),
    ) ?? [];
  expect(line).toBe(
    String.raw`ExecStart="/opt/my tools/kubelet-ts" run --no-tui /srv/100%% $$HOME "a\"b\\c"` +
      ' $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS',
  );
});

test('a shell that evaluates the arguments of the OpenRC script gets every word unchanged', async () => {
  const words = ['/srv/my pods', "it's", '$HOME', '`id`', 'a"b\\c'];
  const lines = openRCScript({ program: '/opt/my tools/kubelet-ts' }, words, 'kubelet-ts').split('\n');
  const assigned = lines.filter((line) => line.startsWith('command')).join('\n');
  const script = `${assigned}\neval "set -- $command_args"\nprintf '%s\\n' "$command" "$@"`;
  const { stdout } = await execa('sh', ['-c', script]);
  expect(stdout.split('\n')).toEqual(['/opt/my tools/kubelet-ts', 'run', '--no-tui', ...words]);
});

test('the OpenRC script is a script without mistakes', async () => {
  const input = openRCScript({ program: '/usr/bin/kubelet-ts' }, ['/etc/kubernetes/manifests'], 'kubelet');
  await execa('sh', ['-n'], { input });
  expect(input).toContain('name="kubelet"\n');
  expect(input).toContain("command_args='run --no-tui /etc/kubernetes/manifests'\n");
});

test('systemd takes the unit named kubelet with the drop-in of kubeadm, which gives it the command line', async () => {
  const folder = await temporaryFolder();
  const dropIns = join(folder, 'kubelet.service.d');
  await mkdir(dropIns);
  const program = join(folder, 'kubelet');
  await writeFile(program, '#!/bin/sh\n', { mode: 0o755 });
  await writeFile(
    join(folder, 'kubelet.service'),
    systemdUnit({ program: '/bin/true' }, ['/etc/kubernetes/manifests'], 'kubelet'),
  );
  const dropIn = (await readFile('test/e2e/kubeadm/10-kubeadm.conf', 'utf8')).replaceAll('/usr/bin/kubelet', program);
  await writeFile(join(dropIns, '10-kubeadm.conf'), dropIn);
  const verify = (): Promise<{ stderr: string }> =>
    execa('systemd-analyze', ['verify', '--man=no', join(folder, 'kubelet.service')]);
  expect((await verify()).stderr).toBe('');
  // As a proof that the command line is that of the drop-in.
  await rm(program);
  await expect(verify()).rejects.toThrow(`kubelet.service: Command ${program} is not executable`);
});
