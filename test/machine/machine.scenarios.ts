import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makePod, serve, shell } from '../e2e/manifests.ts';
import { pauseImageArchive } from '../../src/containerd/pause/pause-image.ts';
import type { Container } from '../../src/api/types.ts';
import { Machine } from './machine.ts';

const manifests = '/etc/kubernetes/manifests';
const slices = '/sys/fs/cgroup/kubepods.slice';
/** The UID of a pod without one is a hash, so pods whose cgroups are read have their own. */
const uid = (digit: number): string => `${String(digit).repeat(8)}-1111-2222-3333-444444444444`;

let machine: Machine;

beforeAll(async () => {
  const [made = '', payload = ''] = ['MACHINE', 'MACHINE_PAYLOAD'].map((name) => process.env[name]);
  await writeFile(join(payload, 'pause.tar'), await pauseImageArchive(process.arch, 'registry.k8s.io/pause:3.6'));
  machine = await Machine.create(
    made,
    (await readdir(payload)).map((name) => join(payload, name)),
  );
  await machine.boot();
  // As docs/runtimes.md says: the packages of Debian, the cgroup driver systemd, and a network of pods.
  await machine.run(`mkdir -p /etc/containerd /etc/cni/net.d ${manifests}`);
  const changes = '-e "s/SystemdCgroup = false/SystemdCgroup = true/" -e "s@/opt/cni/bin@/usr/lib/cni@"';
  await machine.run(`containerd config default | sed ${changes} > /etc/containerd/config.toml`);
  await machine.write('/etc/cni/net.d/10-pods.conflist', JSON.stringify(podNetwork));
  await machine.run('systemctl enable --now containerd');
  for (const image of ['pause', 'busybox']) await machine.run(`ctr -n k8s.io images import /payload/${image}.tar`);
});
afterAll(() => machine.remove());

const podNetwork = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.88.0.0/16' }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

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

test('the package installs, and systemctl enable --now waits until the engine runs', async () => {
  await machine.run('dpkg -i /payload/*.deb');
  expect(await machine.run('systemctl is-enabled kubelet-ts || true')).toBe('disabled');
  await machine.run('systemctl enable --now kubelet-ts');
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
  await machine.until(`[ -z "$(find ${slices} -name '*pod?*.slice')" ]`);
  await machine.until('[ -z "$(systemctl list-units --plain --no-legend kubepods-*pod?*.slice)" ]');
});

test('a container beyond its memory is killed, and reported as OOMKilled', async () => {
  const script = 'dd if=/dev/zero of=/dev/null bs=200M count=1';
  const memory = { limits: { memory: '32Mi' } };
  await declare('oom', makePod('oom', { restartPolicy: 'Never', containers: limited(memory, script) }));
  await machine.until('kubelet-ts ps -o json | grep -q OOMKilled');
  await machine.run(`rm ${manifests}/oom.json`);
});

test('a reload, an agent that hangs, and a stop: the pods run on', async () => {
  await declare('web', makePod('web', { containers: limited({}) }));
  await untilReady('web');
  const before = await containers();
  const pid = await property('kubelet-ts', 'MainPID');
  await machine.run('systemctl reload kubelet-ts');
  await machine.until('journalctl -u kubelet-ts | grep -q "Reading the configuration and certificates anew"');
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
  await machine.run(`rm ${manifests}/web.json`);
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
  await machine.try('systemctl reboot');
  await machine.until('[ $(cut -d. -f1 /proc/uptime) -lt 900 ]');
  await machine.until('systemctl is-active kubelet-ts');
  await untilReady('db');
  expect(await machine.run(starts)).toBe('3');
  expect(await machine.run('find /var/lib/kubelet-ts -name "*.unusable" -o -name "*.part"')).toBe('');
  await machine.run(`rm ${manifests}/*`);
});

test('logind waits for the pods, which end in order', async () => {
  const flags = '--shutdown-grace-period=120s --shutdown-grace-period-critical-pods=40s';
  await machine.run(`echo 'KUBELET_EXTRA_ARGS="${flags}"' > /etc/default/kubelet-ts && systemctl restart kubelet-ts`);
  for (const [name, priority] of [
    ['first', 1],
    ['last', 2_000_000_000],
  ] as const) {
    const script = `trap "echo ${name} >> /notes/log; sync; exit 0" TERM; touch /tmp/ready; while :; do sleep 1; done`;
    await declare(
      name,
      makePod(name, {
        priority,
        terminationGracePeriodSeconds: 40,
        volumes: [{ name: 'notes', hostPath: { path: '/var/notes', type: 'DirectoryOrCreate' } }],
        containers: [shell('app', script, { volumeMounts: [{ name: 'notes', mountPath: '/notes' }] })],
      }),
    );
  }
  await untilReady('first', 'last');
  await machine.until('systemd-inhibit --list | grep -q kubelet');
  await machine.powerOff();
  await machine.boot();
  expect(await machine.run('cat /var/notes/log')).toBe('first\nlast');
  await machine.run(`rm ${manifests}/*`);
});

test('down --all leaves nothing', async () => {
  await machine.run('systemctl disable --now kubelet-ts');
  await machine.run('kubelet-ts down --all');
  expect(await machine.run(`find /sys/fs/cgroup -path '*kubepods*' -type d; ctr -n k8s.io containers ls -q`)).toBe('');
  expect(await machine.run('mount | grep -c /var/lib/kubelet-ts/ || true')).toBe('0');
});
