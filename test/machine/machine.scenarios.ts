import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Container } from '../../src/api/types.ts';
import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import { pauseImageArchive } from '../../src/containerd/pause/pause-image.ts';
import type { Summary } from '../../src/engine/stats/summary.ts';
import { hostFolder, makePod, serve, shell } from '../e2e/manifests.ts';
import { Machine } from './machine.ts';
import { setUpRuntime } from './set-up-runtime.ts';

const manifests = '/etc/kubernetes/manifests';
const slices = '/sys/fs/cgroup/kubepods.slice';
/** The UID of a pod without one is a hash, so pods whose cgroups are read have their own. */
const uid = (digit: number): string => `${String(digit).repeat(8)}-1111-2222-3333-444444444444`;

let machine: Machine;
/** What systemd says of the service when the package is installed. */
let enabledByPackage: string;

beforeAll(async () => {
  const names = ['MACHINE', 'MACHINE_PAYLOAD', 'MACHINE_FOLDER'];
  const [made = '', payload = '', folder = ''] = names.map((name) => process.env[name]);
  await writeFile(join(payload, 'pause.tar'), await pauseImageArchive(process.arch, 'registry.k8s.io/pause:3.6'));
  machine = await Machine.create({ made, payload, folder });
  await machine.boot();
  await setUpRuntime(machine);
  await machine.run(`mkdir -p ${manifests} && dpkg -i /payload/*.deb`);
  enabledByPackage = await machine.run('systemctl is-enabled kubelet-ts || true');
  await machine.run('systemctl enable --now kubelet-ts');
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') {
    const errors = task.result.errors?.map(({ message, diff }) => `${message}\n${diff ?? ''}`) ?? [];
    process.stderr.write(`${[await machine.lastWords(), ...errors].join('\n')}\n`);
  }
  await machine.try(`rm -f ${manifests}/*`);
});
afterAll(() => machine.cutPower());

async function declare(name: string, pod: object, digit?: number): Promise<void> {
  const { metadata } = pod as { metadata: object };
  const own = digit === undefined ? {} : { metadata: { ...metadata, uid: uid(digit) } };
  await machine.write(`${manifests}/${name}.json`, JSON.stringify({ ...pod, ...own }));
}

/** A long-running container with these resources. */
const limited = (resources: NonNullable<Container['resources']>, script: string = serve): Container[] => [
  shell('app', script, { resources }),
];

/** Values of files below the slice of all pods. */
async function read(folder: string, ...files: string[]): Promise<Record<string, string>> {
  const text = await machine.run(`cd ${slices}/${folder} && grep -H . ${files.join(' ')}`);
  return Object.fromEntries(
    text.split('\n').map((line): [string, string] => {
      const [name = '', value = ''] = line.split(/:(.*)/s);
      return [name, value];
    }),
  );
}

/** A command ends early where the agent is too busy to answer it, so it is asked again. */
const untilReady = (...pods: string[]): Promise<void> =>
  machine.until(`kubelet-ts wait ${pods.join(' ')} --timeout 60s`, 900);
const property = (unit: string, name: string): Promise<string> =>
  machine.run(`systemctl show -p ${name} --value ${unit}`);
/** What changes when a container restarts. */
const containers = (): Promise<string> => machine.run('ctr -n k8s.io tasks ls -q | sort');
/** The containers of a pod, also those that ended. */
const containersOf = (pod: string): Promise<string> =>
  machine.run(`ctr -n k8s.io containers ls -q 'labels."io.kubernetes.pod.name"==${pod}-machine' | sort`);
const cgroupsAndContainers = (): Promise<string> =>
  machine.run(`find /sys/fs/cgroup -path '*kubepods*' -type d; ctr -n k8s.io containers ls -q`);

/** Restarts the agent with further flags. */
async function restartWith(...flags: string[]): Promise<void> {
  await machine.write('/etc/default/kubelet-ts', `KUBELET_EXTRA_ARGS="${flags.join(' ')}"\n`);
  await machine.run('systemctl restart kubelet-ts');
}

test('the package installs, and systemctl enable --now waits until the engine runs', async () => {
  expect(enabledByPackage).toBe('disabled');
  expect(
    await Promise.all(['ActiveState', 'StatusText', 'NRestarts'].map((name) => property('kubelet-ts', name))),
  ).toEqual(['active', 'Running', '0']);
  const pid = await property('kubelet-ts', 'MainPID');
  expect(await machine.run(`cat /proc/${pid}/oom_score_adj`)).toBe('-999');
});

test('pods are slices of systemd with their limits, which a daemon-reload keeps', async () => {
  const ofAll = { cpu: '250m', memory: '64Mi' };
  await declare('g', makePod('g', { containers: limited({ requests: ofAll, limits: ofAll }) }), 1);
  const some = { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '300m', memory: '128Mi' } };
  await declare('b', makePod('b', { containers: limited(some) }), 2);
  await declare('e', makePod('e', { containers: limited({}) }), 3);
  await untilReady('g', 'b', 'e');
  const files = ['cpu.weight', 'cpu.max', 'memory.max', 'hugetlb.2MB.max'];
  const name = (digit: number): string => `pod${uid(digit).replaceAll('-', '_')}`;
  const limits = async (): Promise<object[]> => [
    await read(`kubepods-${name(1)}.slice`, ...files),
    await read(`kubepods-burstable.slice/kubepods-burstable-${name(2)}.slice`, ...files),
    await read(`kubepods-besteffort.slice/kubepods-besteffort-${name(3)}.slice`, ...files),
  ];
  const none = { 'hugetlb.2MB.max': '0' };
  const expected = [
    { 'cpu.weight': '10', 'cpu.max': '25000 100000', 'memory.max': '67108864', ...none },
    { 'cpu.weight': '4', 'cpu.max': '30000 100000', 'memory.max': '134217728', ...none },
    { 'cpu.weight': '1', 'cpu.max': 'max 100000', 'memory.max': 'max', ...none },
  ];
  expect(await limits()).toEqual(expected);
  await machine.run('systemctl daemon-reload');
  expect(await limits()).toEqual(expected);
  const scopes = `${slices}/kubepods-${name(1)}.slice/cri-containerd-*.scope`;
  // Containers may not swap. The sandbox has no limit.
  expect(await machine.run(`cat ${scopes}/memory.swap.max | sort`)).toBe('0\nmax');

  const more = { cpu: '500m', memory: '96Mi' };
  const before = await containers();
  await declare('g', makePod('g', { containers: limited({ requests: more, limits: more }) }), 1);
  await machine.until(`grep -q 50000 ${slices}/kubepods-${name(1)}.slice/cri-*/cpu.max`);
  await machine.run('systemctl daemon-reload');
  expect(await read(`kubepods-${name(1)}.slice`, 'cpu.max', 'memory.max')).toEqual({
    'cpu.max': '50000 100000',
    'memory.max': '100663296',
  });
  expect(await containers()).toBe(before);

  await machine.run(`rm ${manifests}/[gbe].json`);
  await machine.until(`[ -z "$(find ${slices} -name '*-pod*.slice')" ]`);
  await machine.until(`[ -z "$(systemctl list-units --plain --no-legend 'kubepods*-pod*.slice')" ]`);
});

test('a container beyond its memory is killed, and reported as OOMKilled', async () => {
  const script = 'dd if=/dev/zero of=/dev/null bs=200M count=1';
  const memory = { limits: { memory: '32Mi' } };
  await declare('oom', makePod('oom', { restartPolicy: 'Never', containers: limited(memory, script) }));
  await machine.until('kubelet-ts ps -o json | grep -q OOMKilled');
});

test('a reload, an agent that hangs, and a stop: the pods run on', async () => {
  await declare('web', makePod('web', { containers: limited({}) }));
  await untilReady('web');
  const before = await containers();
  const pid = await property('kubelet-ts', 'MainPID');
  await machine.run('systemctl reload kubelet-ts');
  await machine.until('journalctl -u kubelet-ts | grep -q "Reloading the configuration and certificates"');
  await machine.until('[ "$(systemctl show -p SubState --value kubelet-ts)" = running ]');
  expect(await property('kubelet-ts', 'MainPID')).toBe(pid);
  await machine.run(`kill -STOP ${pid}`);
  await machine.until('[ "$(systemctl show -p NRestarts --value kubelet-ts)" = 1 ]');
  expect(await machine.run('journalctl -u kubelet-ts | grep -c "Failed with result .watchdog"')).toBe('1');
  await machine.until('[ "$(systemctl show -p SubState --value kubelet-ts)" = running ]');
  expect(await containers()).toBe(before);
  await machine.run('systemctl stop kubelet-ts');
  expect(await containers()).toBe(before);
  await machine.run('systemctl start kubelet-ts');
  await untilReady('web');
  expect(await containers()).toBe(before);
});

test('run-once beside the agent: the output and exit code of a job, and nothing is left', async () => {
  const script = 'cat /sys/fs/cgroup/memory.max; ip -o address show eth0 | grep -c "inet "; exit 3';
  const job = makePod('job', {
    hostNetwork: false,
    restartPolicy: 'Never',
    containers: limited({ limits: { memory: '64Mi' } }, script),
  });
  await machine.write('/root/job.json', JSON.stringify(job));
  await machine.write('/root/resolv.conf', 'nameserver 192.0.2.53\n');
  const command = 'kubelet-ts run-once --isolated --resolv-conf /root/resolv.conf /root/job.json';
  const { code, stdout, stderr } = await machine.try(command);
  expect({ code, stdout, stderr: stderr.replace(/run-[0-9a-f]{8}/, 'run-0') }).toEqual({
    code: 3,
    stdout: '67108864\n1',
    stderr: 'default/job-run-0: failed: container app exited with code 3',
  });
  expect(await containersOf('job')).toBe('');
  expect(await machine.run("find /sys/fs/cgroup -name 'run_*'; systemctl list-units --all --plain -q 'run_*'")).toBe(
    '',
  );
});

test('top agrees with the kernel, with an agent and without one', async () => {
  const half = { cpu: '200m', memory: '64Mi' };
  const busy = makePod('busy', { containers: limited({ requests: half, limits: half }, 'while :; do :; done') });
  await declare('busy', busy, 4);
  const volume = { name: 'data', emptyDir: { medium: 'Memory' as const } };
  const fill = `dd if=/dev/zero of=/data/file bs=1M count=20; ${serve}`;
  const mounts = [{ name: 'data', mountPath: '/data' }];
  const full = shell('app', fill, { resources: { requests: half, limits: half }, volumeMounts: mounts });
  await declare('full', makePod('full', { volumes: [volume], containers: [full] }), 5);
  await untilReady('busy', 'full');
  await topAgrees();
  await machine.run('systemctl stop kubelet-ts');
  await topAgrees();
  await machine.run('systemctl start kubelet-ts');
});

/** Nanoseconds of CPU and bytes of memory of a pod. */
async function kernelFigures(digit: number): Promise<{ cpu: number; memory: number }> {
  const folder = `${slices}/kubepods-pod${uid(digit).replaceAll('-', '_')}.slice`;
  const [memory, cpu] = (await machine.run(`cat ${folder}/memory.current ${folder}/cpu.stat`)).split('\n');
  return { cpu: Number(cpu?.replace('usage_usec ', '')) * 1000, memory: Number(memory) };
}

async function topAgrees(): Promise<void> {
  const [since, busyBefore] = [await machine.run('date -u +%FT%TZ'), await kernelFigures(4)];
  let pods: Summary['pods'];
  // Samples may be 15 seconds old.
  do pods = (JSON.parse(await machine.run('kubelet-ts top -o json')) as Summary).pods;
  while (pods.some(({ cpu }) => (cpu?.time ?? '') <= since));
  const [busyAfter, fullNow] = [await kernelFigures(4), await kernelFigures(5)];
  const [busy, full] = pods;
  expect(pods.map(({ podRef }) => podRef.name)).toEqual(['busy-machine', 'full-machine']);
  expect(busy?.cpu?.usageCoreNanoSeconds).toBeGreaterThanOrEqual(busyBefore.cpu);
  expect(busy?.cpu?.usageCoreNanoSeconds).toBeLessThanOrEqual(busyAfter.cpu);
  // Its limit is 200m, of which half a second may have one period of 100 ms more or less.
  expect(busy?.cpu?.usageNanoCores).toBeGreaterThan(150e6);
  expect(busy?.cpu?.usageNanoCores).toBeLessThan(250e6);
  expect(Math.abs((full?.memory?.usageBytes ?? 0) - fullNow.memory)).toBeLessThan(2 ** 20);
  expect(full?.memory?.workingSetBytes).toBeGreaterThan(20 * 2 ** 20);
}

test.each([
  {
    resource: 'memory',
    threshold: 'memory.available<1200Mi',
    condition: 'MemoryPressure',
    medium: 'Memory',
    mebibytes: 650,
  },
  {
    resource: 'ephemeral-storage',
    threshold: 'nodefs.available<2Gi',
    condition: 'DiskPressure',
    medium: '',
    mebibytes: 1600,
  },
] as const)('a node short of $resource evicts the pod that took it, which comes back', async (short) => {
  const { resource, threshold, condition, medium, mebibytes } = short;
  await restartWith(`--eviction-hard=${threshold}`, '--eviction-pressure-transition-period=30s');
  const take = `until [ -e /control/take ]; do sleep 1; done; fallocate -l ${mebibytes}m /cache/file`;
  const taking = shell('app', `${take}; ${serve}`, {
    volumeMounts: ['cache', 'control'].map((name) => ({ name, mountPath: `/${name}` })),
  });
  const volumes = [{ name: 'cache', emptyDir: { medium } }, hostFolder('control', '/var/control')];
  await declare('large', makePod('large', { volumes, containers: [taking] }));
  await declare('calm', makePod('calm', { containers: limited({ requests: { memory: '32Mi' } }) }));
  await untilReady('large', 'calm');
  const calm = await containersOf('calm');
  await machine.run('touch /var/control/take');
  await machine.until('kubelet-ts ps -o json | grep -q "The node was low on resource"');
  expect(await machine.run('kubelet-ts ps -o json')).toContain(`The node was low on resource: ${resource}.`);
  expect((await machine.try('kubelet-ts ps')).stderr).toContain(`warning: node ${condition} for `);
  await machine.run('rm /var/control/take');
  await untilReady('large', 'calm');
  expect(await containersOf('calm')).toBe(calm);
  await restartWith();
});

test('a power cut and a reboot: pods come back, with the data of their claims', async () => {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
  };
  const writes = 'echo start >> /data/starts; sync; while :; do date >> /data/dates; sleep 1; done';
  const pod = makePod('db', {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    containers: [shell('app', writes, { volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
  });
  await machine.write(`${manifests}/claim.json`, JSON.stringify(claim));
  await declare('db', pod);
  await untilReady('db');
  const starts = 'kubelet-ts exec db -- sh -c "grep -c start /data/starts"';
  expect(await machine.run(starts)).toBe('1');
  // As for files of any other program: what it has not synced may be lost.
  await machine.run('sync');
  await machine.cutPower();
  // Its clock is three years behind, as without a battery.
  await machine.boot('-rtc', 'base=2023-01-01T00:00:00');
  await machine.until('systemctl is-active kubelet-ts');
  await untilReady('db');
  expect(await machine.run(starts)).toBe('2');
  await machine.reboot();
  await machine.until('systemctl is-active kubelet-ts');
  await untilReady('db');
  expect(await machine.run(starts)).toBe('3');
  expect(await machine.run('find /var/lib/kubelet-ts -name "*.unusable" -o -name "*.part"')).toBe('');
});

test('a clock that is set forward and back by ten years: the pods run on, and others start', async () => {
  await declare('web', makePod('web', { containers: limited({}) }));
  await untilReady('web');
  const before = await containersOf('web');
  for (const [name, change] of [
    ['later', '+10 years'],
    ['earlier', '-20 years'],
  ] as const) {
    await machine.run(`date -s "${change}"`);
    await declare(name, makePod(name, { containers: limited({}) }));
    await untilReady(name);
    expect(await containersOf('web')).toBe(before);
  }
  expect(await property('kubelet-ts', 'NRestarts')).toBe('0');
});

test('logind waits for the pods, which end in order, and a clock ahead at the boot does no harm', async () => {
  await restartWith('--shutdown-grace-period=120s', '--shutdown-grace-period-critical-pods=40s');
  // The pod that others wait for takes the longest.
  const pods = [
    { name: 'app', seconds: 4, dependsOn: { annotations: { [dependsOnAnnotation]: 'db' } } },
    { name: 'db', seconds: 2 },
    { name: 'critical', seconds: 0, priority: 2_000_000_000 },
  ];
  const volumes = [hostFolder('notes', '/var/notes')];
  for (const { name, seconds, dependsOn, priority } of pods) {
    const script = `trap "sleep ${seconds}; echo ${name} >> /notes/log; exit 0" TERM; while :; do sleep 1; done`;
    const container = shell('app', script, { volumeMounts: [{ name: 'notes', mountPath: '/notes' }] });
    const spec = { terminationGracePeriodSeconds: 40, volumes, containers: [container] };
    await declare(name, makePod(name, { ...dependsOn, ...(priority !== undefined && { priority }), ...spec }));
  }
  await untilReady('app', 'db', 'critical');
  await machine.until('systemd-inhibit --list | grep -q kubelet');
  await machine.powerOff();
  await machine.boot('-rtc', 'base=2040-01-01T00:00:00');
  expect(await machine.run('cat /var/notes/log')).toBe('app\ndb\ncritical');
  await untilReady('app', 'db', 'critical');
  await restartWith();
});

test('down --all leaves nothing, neither of running pods nor of one that just ends', async () => {
  const some = { requests: { cpu: '100m', memory: '32Mi' } };
  const all = { cpu: '100m', memory: '32Mi' };
  await declare('g', makePod('g', { containers: limited({ requests: all, limits: all }) }));
  await declare('b', makePod('b', { containers: limited(some) }));
  await declare('e', makePod('e', { containers: limited({}) }));
  await declare('ends', makePod('ends', { containers: limited(some) }));
  await untilReady('g', 'b', 'e', 'ends');
  await machine.run(`rm ${manifests}/ends.json && kubelet-ts down --all`);
  // systemd does not start the agent again.
  await machine.until('[ "$(systemctl show -p ActiveState --value kubelet-ts)" = inactive ]');
  expect(await property('kubelet-ts', 'SubState')).toBe('dead');
  expect(await cgroupsAndContainers()).toBe('');
  expect(await machine.run("systemctl list-units --all --plain -q 'kubepods*'")).toBe('');
  expect(await machine.run('mount | grep -c /var/lib/kubelet-ts/ || true')).toBe('0');
});

test('the executable installs its service in the place of the package: the pods run on', async () => {
  await machine.run('systemctl start kubelet-ts');
  await declare('web', makePod('web', { containers: limited({}) }));
  await untilReady('web');
  const before = await containers();
  await machine.run('cp /usr/bin/kubelet-ts /usr/local/bin/ && dpkg -P kubelet-ts');
  expect(await machine.run('systemctl is-enabled kubelet-ts || true')).toBe('');
  await machine.run('kubelet-ts install-service');
  expect(await machine.run('systemctl is-enabled kubelet-ts')).toBe('enabled');
  await machine.run('systemctl start kubelet-ts');
  await untilReady('web');
  const pid = await property('kubelet-ts', 'MainPID');
  expect(await machine.run(`readlink /proc/${pid}/exe`)).toBe('/usr/local/bin/kubelet-ts');
  expect(await containers()).toBe(before);
  await machine.run('kubelet-ts uninstall-service');
  expect(await machine.run('ls /etc/systemd/system/kubelet-ts.service || true')).toBe('');
  expect(await containers()).toBe(before);
  await machine.run('kubelet-ts down --all');
  expect(await cgroupsAndContainers()).toBe('');
});

test.each([
  ['exits at once', '#!/bin/sh\nexit 1\n'],
  ['hangs', '#!/bin/sh\nexec sleep infinity\n'],
])('a release that %s is undone after three starts: the pods run on', async (_what, broken) => {
  const program = '/usr/local/bin/kubelet-ts';
  await machine.run(`[ -e ${program} ] || { cp /usr/bin/kubelet-ts ${program} && dpkg -P kubelet-ts; }`);
  await machine.run(`${program} install-service`);
  await machine.run('systemctl start kubelet-ts');
  await declare('web', makePod('web', { containers: limited({}) }));
  await untilReady('web');
  const before = await containers();
  const sum = `sha256sum < ${program}`;
  const own = await machine.run(sum);
  await machine.run(`cp ${program} /root/release && echo >> /root/release`);
  expect(await machine.run('kubelet-ts upgrade /root/release --timeout 10m')).toContain(
    'Restarted kubelet-ts.service: ',
  );
  expect(await machine.run(sum)).not.toBe(own);
  await untilReady('web');
  expect(await containers()).toBe(before);
  // It broke after all that upgrade can check.
  await machine.run(
    `systemctl stop kubelet-ts && ln -f ${program} ${program}.previous && echo "0.1.0 0.2.0" > ${program}.pending-3`,
  );
  const good = await machine.run(sum);
  await machine.write('/root/broken', broken);
  // An agent extends it.
  await machine.run('mkdir -p /etc/systemd/system/kubelet-ts.service.d');
  await machine.write('/etc/systemd/system/kubelet-ts.service.d/hang.conf', '[Service]\nTimeoutStartSec=120\n');
  await machine.run(
    `systemctl daemon-reload && install /root/broken ${program} && systemctl --no-block start kubelet-ts`,
  );
  await machine.until(`[ -e ${program}.restored ]`, 1200);
  expect(await machine.run(sum)).toBe(good);
  await untilReady('web');
  expect(await containers()).toBe(before);
  expect(await machine.run('kubelet-ts doctor || true')).toContain(
    '! upgrade        The upgrade from 0.1.0 to 0.2.0 was',
  );
  const journal = await machine.run('journalctl -u kubelet-ts -b');
  expect(journal).toContain(`the upgrade of ${program} did not become healthy in three starts`);
  expect(journal).toContain('The upgrade from 0.1.0 to 0.2.0 was undone');
  await machine.run(`rm ${program}.restored && rm -r /etc/systemd/system/kubelet-ts.service.d`);
  await machine.run('kubelet-ts uninstall-service && kubelet-ts down --all');
});
