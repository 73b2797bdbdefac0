import { expect, test } from 'vitest';
import { generateFindings } from '../../../src/node/doctor/checks/all-checks.ts';
import type {
  CgroupFacts,
  DiskFacts,
  Facts,
  KernelFacts,
  MemoryFacts,
  NetworkFacts,
  PacketFacts,
  RuntimeAnswer,
} from '../../../src/node/doctor/checks/facts.ts';
import type { Fact } from '../../../src/node/doctor/checks/finding.ts';
import { makeFacts } from './facts.ts';

/** All findings but the good ones, as `check level: evidence -> fix`. */
function complaints(broken: Partial<Facts>): string[] {
  return generateFindings({ ...makeFacts(), ...broken })
    .filter(({ level }) => level !== 'ok')
    .map(({ check, level, evidence, fix = '' }) => `${check} ${level}: ${evidence} -> ${fix}`);
}

const valueOf = <T>(fact: Fact<T> | undefined): T => {
  if (fact === undefined || !('value' in fact)) throw new Error('the healthy machine has this fact');
  return fact.value;
};
const healthy = makeFacts() as Facts;
const kernel = (change: Partial<KernelFacts>): Partial<Facts> => ({
  kernel: { value: { ...valueOf(healthy.kernel), ...change } },
});
const cgroups = (change: Partial<CgroupFacts>): Partial<Facts> => ({
  cgroups: { value: { ...valueOf(healthy.cgroups), ...change } },
});
const network = (change: Partial<NetworkFacts>): Partial<Facts> => ({
  network: { value: { ...valueOf(healthy.network), ...change } },
});
const packets = (change: Partial<PacketFacts>): Partial<Facts> =>
  network({ packets: { ...valueOf(healthy.network).packets, ...change } });
const disk = (change: Partial<DiskFacts>): Partial<Facts> => ({
  disks: [{ value: { ...valueOf(healthy.disks[0]), ...change } }],
});
const upgrade = (kind: 'pending' | 'restored'): Partial<Facts> => ({
  upgrade: { value: { program: '/usr/local/bin/kubelet-ts', state: { kind, from: '0.1.0', to: '0.2.0' } } },
});
const memory = (change: Partial<MemoryFacts>): Partial<Facts> => ({
  memory: { value: { ...valueOf(healthy.memory), ...change } },
});
const settings = (change: Partial<Facts['settings']>): Partial<Facts> => ({
  settings: { ...healthy.settings, ...change },
});
function answer(change: Partial<RuntimeAnswer>): Partial<Facts> {
  const runtime = valueOf(healthy.runtime);
  if (runtime.kind === 'none') throw new Error('the healthy machine has a runtime');
  return { runtime: { value: { ...runtime, answer: { ...(runtime.answer as RuntimeAnswer), ...change } } } };
}
const condition = (type: string, reason: string, message: string): Partial<Facts> =>
  answer({ conditions: [{ type, status: false, reason, message }] });
const managed = { kind: 'chosen', endpoint: 'unix:///c.sock', managed: true, because: 'none answers.' } as const;
const path = (what: 'root-dir' | 'manifests' | 'control socket', uid: number, mode: number): Partial<Facts> => ({
  paths: [{ value: { what, path: '/p', found: { uid, mode, isLink: false } } }],
});
const calico = network({ configs: [{ path: '/etc/cni/net.d/10-a.conf', types: ['calico'] }] });
const dropIns = {
  ...{ folder: '/c', logFile: '/c.log', refused: [], unknown: [], isLeftOut: false },
  runtimes: [{ name: 'wasm', file: '/c/1.toml', missing: ['containerd-shim-wasm-v1'] }],
};
const restart = 'Restart kubelet-ts: systemctl restart kubelet-ts';
const loopback = { servers: ['127.0.0.53'], searches: [], options: [] };
const swap = [{ name: '/dev/sda2', sizeBytes: 1n << 30n }];
const plugins = 'Install it with: apt-get install containernetworking-plugins';

test('each error of a configuration is a finding of one line', () => {
  const errors = ['/a.yaml:3:10: error: maxPods: wrong', '/b.conf:1:1: error: apiVersion: missing'];
  const message = ['the configuration is invalid', ...errors].join('\n');
  const fix = 'Correct the file, then check again: kubelet-ts doctor --config FILE';
  expect(complaints({ configuration: { warnings: [], error: { message } } })).toEqual(
    errors.map((error) => `configuration problem: ${error} -> ${fix}`),
  );
});

test('a healthy machine has no complaints', () => {
  expect(complaints({})).toEqual([]);
});

test.each<[broken: string, facts: Partial<Facts>, found: string[]]>([
  [
    'no root',
    { rights: { value: { uid: 1000, capabilities: 0n } } },
    ['rights warning: user 1000 is not root, so some checks are skipped -> sudo kubelet-ts doctor'],
  ],
  [
    'root without rights',
    { rights: { value: { uid: 0, capabilities: (1n << 41n) - 1n - (1n << 21n) } } },
    ['rights problem: root lacks CAP_SYS_ADMIN -> Start the container or the service with all capabilities.'],
  ],
  [
    'root that cannot raise limits',
    { rights: { value: { uid: 0, capabilities: (1n << 41n) - 1n - (1n << 24n) } } },
    [
      'rights warning: root lacks CAP_SYS_RESOURCE: some pods cannot get what they request -> Add CAP_SYS_RESOURCE to the container.',
    ],
  ],
  [
    'a broken configuration',
    { configuration: { error: { message: 'kubelet.yaml:1:1: error: maxPods' }, warnings: [] } },
    [
      'configuration problem: kubelet.yaml:1:1: error: maxPods -> Correct the file, then check again: kubelet-ts doctor --config FILE',
    ],
  ],
  [
    'an old kernel',
    kernel({ release: '4.9.0-19-amd64' }),
    ['kernel warning: Linux 4.9.0-19-amd64 is older than 4.19 -> Install a newer kernel of this distribution.'],
  ],
  ['a module that is not loaded', kernel({ fileSystems: ['ext4'], loadableModules: ['overlay'] }), []],
  [
    'no overlayfs',
    kernel({ fileSystems: ['ext4'] }),
    ['kernel problem: the kernel has no overlay file system, which images need -> modprobe overlay'],
  ],
  [
    'no namespaces',
    kernel({ namespaces: ['mnt', 'uts', 'ipc'] }),
    ['kernel problem: the kernel has no namespaces of net, pid -> Run a kernel with CONFIG_NAMESPACES.'],
  ],
  [
    'settings that must not be changed',
    {
      ...settings({ protectKernelDefaults: true }),
      ...kernel({ sysctls: { ...valueOf(healthy.kernel).sysctls, 'kernel.panic': '0' } }),
    },
    ['kernel problem: protectKernelDefaults is set, and kernel.panic is 0, not 10 -> sysctl -w kernel.panic=10'],
  ],
  [
    'few inotify instances',
    kernel({ sysctls: { 'fs.inotify.max_user_instances': '8' } }),
    [
      'kernel warning: fs.inotify.max_user_instances is 8, so file changes may go unnoticed -> sysctl -w fs.inotify.max_user_instances=512',
    ],
  ],
  [
    'no cgroups',
    cgroups({ mode: 'none', offered: [] }),
    ['cgroups problem: no cgroups are mounted -> mount -t cgroup2 none /sys/fs/cgroup'],
  ],
  [
    'a controller that is off',
    cgroups({ offered: ['cpu', 'cpuset', 'pids'] }),
    [
      'cgroups warning: no controller memory: pods run without these limits -> Add cgroup_enable=memory to the command line of the kernel, and reboot.',
    ],
  ],
  [
    'read-only cgroups',
    cgroups({ isWritable: false }),
    [
      'cgroups problem: /sys/fs/cgroup is read-only, so no pod gets a cgroup -> In a container: run it with --privileged. Otherwise: mount -o remount,rw /sys/fs/cgroup',
    ],
  ],
  [
    'a container that delegates nothing',
    cgroups({ unified: { delegated: ['pids'], isRoot: false, hasProcesses: true } }),
    [
      'cgroups warning: this cgroup has processes and does not delegate cpu, cpuset, memory: pods run without these limits -> mkdir /sys/fs/cgroup/init && xargs -rn1 < /sys/fs/cgroup/cgroup.procs > /sys/fs/cgroup/init/cgroup.procs',
    ],
  ],
  [
    'a named runtime that does not run',
    { runtime: { value: { kind: 'none', trouble: { message: 'x.sock does not exist', hint: 'Start it.' } } } },
    ['runtime problem: x.sock does not exist -> Start it.'],
  ],
  [
    'no runtime and no containerd to manage',
    { runtime: { value: { ...managed, programs: { message: 'containerd is not installed', hint: plugins } } } },
    [`runtime problem: containerd is not installed -> ${plugins}`],
  ],
  [
    'a runtime that hangs',
    { runtime: { value: { ...managed, answer: { message: 'Version: deadline exceeded' } } } },
    ['runtime problem: Version: deadline exceeded -> Read the log of the runtime: journalctl -u containerd'],
  ],
  [
    'a runtime that is not ready',
    condition('RuntimeReady', 'Broken', 'disk'),
    ['runtime problem: RuntimeReady is false: Broken: disk -> journalctl -u containerd -n 50'],
  ],
  [
    'a runtime without a network',
    condition('NetworkReady', 'NetworkPluginNotReady', 'cni plugin not initialized'),
    [
      'runtime problem: NetworkReady is false: NetworkPluginNotReady: cni plugin not initialized -> apt-get install plugins\necho {} > net.conflist',
    ],
  ],
  [
    'the driver systemd without systemd',
    answer({ cgroupDriver: 'systemd', hasSystemd: false }),
    [
      'runtime problem: the cgroup driver of the runtime is systemd, but systemd does not run here -> Set SystemdCgroup = false in /etc/containerd/config.toml, then restart containerd.',
    ],
  ],
  [
    'drivers that differ',
    settings({ cgroupDriver: 'systemd' }),
    [
      'runtime warning: the cgroup driver is cgroupfs, as the runtime reports; the configuration says systemd -> Set cgroupDriver: cgroupfs, or SystemdCgroup = true in the runtime.',
    ],
  ],
  [
    'no CNI plugins',
    { ...network({ pluginFolders: [] }), runtime: { value: managed } },
    [`cni problem: no CNI plugin bridge, host-local, loopback: only pods with hostNetwork: true can run -> ${plugins}`],
  ],
  ['no plugins here, where the runtime has a network by itself', network({ pluginFolders: [] }), []],
  [
    'a firewall that drops connections to host ports',
    packets({ bridges: [], rules: { forwardPolicy: 'DROP', ownChains: [] } }),
    [
      'firewall warning: the policy of FORWARD is DROP: other machines may not reach host ports of pods -> iptables -A FORWARD -m conntrack --ctstate DNAT -j ACCEPT',
    ],
  ],
  [
    'such a firewall whose rule of ours was flushed',
    {
      ...packets({ bridges: [], rules: { forwardPolicy: 'DROP', ownChains: [] } }),
      runtime: { value: managed },
      agents: { value: { own: { pid: 1 }, others: [] } },
    },
    [
      'firewall warning: the policy of FORWARD is DROP: other machines may not reach host ports of pods -> systemctl restart kubelet-ts',
    ],
  ],
  [
    'nothing where the rule of ours is there',
    {
      ...packets({ rules: { forwardPolicy: 'DROP', ownChains: ['KTS0ADE00-FORWARD', 'KTS0ADE00-SNAT'] } }),
      runtime: { value: managed },
    },
    [],
  ],
  [
    'nothing where the start adds the rule',
    { ...packets({ bridges: [], rules: { forwardPolicy: 'DROP', ownChains: [] } }), runtime: { value: managed } },
    [],
  ],
  [
    'rules that a reload of a firewall flushed',
    packets({ rules: { forwardPolicy: 'ACCEPT', ownChains: ['KTS0ADE00-FORWARD'] } }),
    [
      'packets warning: rules for kts0ade00 were removed from iptables (SNAT): pods may not reach other machines -> The agent adds them within a minute. At once: systemctl restart kubelet-ts',
    ],
  ],
  [
    'an uplink with a small MTU',
    packets({ uplinks: [{ name: 'ppp0', families: ['IPv4'], rpFilter: 0, mtu: 1400 }] }),
    [
      'packets warning: the MTU of kts0ade00 is 1500, that of ppp0 1400: large packets of pods may be lost -> kubelet-ts stop POD; kubelet-ts start POD: a new sandbox gets the MTU of the uplink',
    ],
  ],
  [
    'an uplink that has only IPv6',
    packets({ uplinks: [{ name: 'wwan0', families: ['IPv6'], rpFilter: 0, mtu: 1500 }] }),
    [
      'packets warning: this machine reaches others only with IPv6, and kts0ade00 has only IPv4: pods reach no other machine -> Install ip6tables, run kubelet-ts down --all, and start kubelet-ts again',
    ],
  ],
  [
    'nothing where the bridge has IPv6 too',
    packets({
      bridges: [{ name: 'kts0ade00', families: ['IPv4', 'IPv6'] }],
      uplinks: [{ name: 'wwan0', families: ['IPv6'], rpFilter: 0 }],
    }),
    [],
  ],
  [
    'firewalld without the plugin for it',
    packets({ hasFirewalld: true }),
    [
      'packets warning: firewalld runs, and the CNI plugin firewall is missing: it may reject packets of pods -> firewall-cmd --permanent --zone=trusted --add-interface=kts0ade00\nfirewall-cmd --reload',
    ],
  ],
  [
    'a table of an administrator that drops',
    packets({ droppingChains: ['inet filter forward'] }),
    [
      `packets warning: the policy of the nftables chain inet filter forward drops forwarded packets, also those of pods -> nft insert rule inet filter forward iifname '"kts*"' accept\nnft insert rule inet filter forward oifname '"kts*"' ct state established,related accept\nnft insert rule inet filter forward oifname '"kts*"' ct status dnat accept`,
    ],
  ],
  [
    'strict checks of senders with two uplinks',
    packets({
      uplinks: [
        { name: 'eth0.7', families: ['IPv4'], rpFilter: 1 },
        { name: 'wwan0', families: ['IPv4'], rpFilter: 2 },
      ],
    }),
    [
      'packets warning: eth0.7 is one of several uplinks, and rp_filter is strict: packets whose answer would leave by another one are dropped -> sysctl -w net.ipv4.conf.eth0/7.rp_filter=2',
    ],
  ],
  [
    'nothing without a pod on our bridge',
    network({
      ipForward: '0',
      packets: { bridges: [], uplinks: [], hasFirewalld: true, droppingChains: ['inet filter forward'] },
    }),
    [],
  ],
  [
    'name servers on loopback alone',
    network({ dns: { resolvConf: '/etc/resolv.conf', resolvers: { host: loopback, ownNetwork: loopback } } }),
    [
      'dns warning: /etc/resolv.conf names no server that pods with their own network can reach: 127.0.0.53 -> Set dnsConfig.nameservers in the pod, or name another resolver file: kubelet-ts run --resolv-conf FILE',
    ],
  ],
  [
    'a resolver file that is missing',
    network({ dns: { resolvConf: '/etc/resolv.conf', resolvers: { message: 'cannot read it', hint: 'Create it' } } }),
    ['dns problem: no pod can start: cannot read it -> Create it'],
  ],
  [
    'a CNI configuration with a missing plugin, while the runtime reports a network',
    calico,
    [`cni warning: /etc/cni/net.d/10-a.conf needs CNI plugins that are missing: calico -> ${plugins}`],
  ],
  [
    'nothing about such a plugin while pods run',
    { ...calico, agents: { value: { others: [], runningPods: 2, own: { pid: 1 } } } },
    [],
  ],
  [
    'a CNI configuration with a missing plugin, and a runtime without a network',
    { ...calico, ...condition('NetworkReady', 'NetworkPluginNotReady', 'no calico') },
    [
      'runtime problem: NetworkReady is false: NetworkPluginNotReady: no calico -> apt-get install plugins\necho {} > net.conflist',
      `cni problem: /etc/cni/net.d/10-a.conf needs CNI plugins that are missing: calico -> ${plugins}`,
    ],
  ],
  [
    'nothing about the bridge where the managed containerd has no network',
    {
      runtime: {
        value: {
          ...managed,
          answer: {
            ...{ name: 'containerd', version: '1.7.24', networkCommands: [], hasSystemd: false },
            conditions: [{ type: 'NetworkReady', status: false, reason: 'NotReady', message: 'not initialized' }],
          },
        },
      },
    },
    [
      'runtime problem: NetworkReady is false: NotReady: not initialized -> apt-get install containernetworking-plugins\nkubelet-ts down --all, and start kubelet-ts again',
    ],
  ],
  [
    'a CNI configuration with a missing plugin, and no runtime yet',
    { ...calico, runtime: { value: managed } },
    [`cni problem: /etc/cni/net.d/10-a.conf needs CNI plugins that are missing: calico -> ${plugins}`],
  ],
  [
    'a broken CNI configuration, and packets that stay',
    network({ configs: [{ path: '/a.conf', types: [], error: 'it names no plugin' }], ipForward: '0' }),
    [
      'cni warning: /a.conf cannot be used: it names no plugin -> Correct /a.conf, or remove it.',
      'packets warning: net.ipv4.ip_forward is 0: pods reach no other machine, and no machine reaches their host ports -> sysctl -w net.ipv4.ip_forward=1\nKeep it with a file in /etc/sysctl.d',
    ],
  ],
  [
    'packets that are not forwarded',
    network({ configs: [{ path: '/a.conf', types: ['bridge'] }], ipForward: '0' }),
    [
      'packets warning: net.ipv4.ip_forward is 0: pods reach no other machine, and no machine reaches their host ports -> sysctl -w net.ipv4.ip_forward=1\nKeep it with a file in /etc/sysctl.d',
    ],
  ],
  [
    "a route that overlaps the pods' subnet",
    { collision: { value: { sentence: 'The route overlaps' } } },
    [
      'subnet warning: The route overlaps -> kubelet-ts down --all, and start kubelet-ts again, perhaps with --pod-cidr SUBNET',
    ],
  ],
  [
    'no iptables',
    {
      network: {
        value: {
          ...{ pluginFolders: [], configs: [{ path: '/a.conf', types: [] }], nft: '/sbin/nft', installHint: '' },
          packets: { bridges: [], uplinks: [], hasFirewalld: false, droppingChains: [] },
        },
      },
    },
    [
      'firewall warning: iptables is not installed (/sbin/nft is installed, but the CNI plugins need iptables): pods cannot reach other machines, and hostPort does not work -> Install the package iptables of this distribution.',
    ],
  ],
  [
    'an iptables that the kernel refuses',
    network({ iptablesError: "can't initialize iptables table `nat'" }),
    [
      "firewall problem: /usr/sbin/iptables cannot list its rules: can't initialize iptables table `nat' -> modprobe iptable_nat || modprobe nft_compat",
    ],
  ],
  [
    'a full disk',
    disk({ freeBytes: 5n << 30n }),
    [
      'disk problem: root-dir /state has 5.0 GiB left: below 10.0 GiB pods are evicted (nodefs.available) -> du -xh -d2 /state | sort -h | tail -20',
    ],
  ],
  [
    'a disk without inodes',
    disk({ freeInodes: 60n }),
    [
      'disk warning: root-dir /state has 60 inodes left: near the eviction of pods at 50 (nodefs.inodesFree) -> du -x --inodes -d2 /state | sort -n | tail -20',
    ],
  ],
  [
    'a disk that is read-only',
    disk({ readOnlyMount: '/my data' }),
    [
      `disk problem: root-dir /state is on a disk that is read-only: no container can start or stop -> dmesg | grep -iE "error|remount"; mount -o remount,rw '/my data'`,
    ],
  ],
  [
    'a disk without programs',
    disk({ noexecMount: '/my data' }),
    [
      `disk warning: root-dir /state is on a disk that is mounted noexec: pods cannot execute programs in their volumes, such as emptyDir -> mount -o remount,exec '/my data', and remove noexec from /etc/fstab`,
    ],
  ],
  ['a disk without programs that has only layers of overlayfs', disk({ use: 'images', noexecMount: '/' }), []],
  [
    'a disk without programs that has whole containers',
    { ...disk({ use: 'images', noexecMount: '/' }), ...settings({ snapshotter: 'native' }) },
    [
      'disk problem: images /state is on a disk that is mounted noexec: no container can start -> mount -o remount,exec /, and remove noexec from /etc/fstab',
    ],
  ],
  ['a disk that makes inodes as needed', disk({ freeInodes: 0n, inodes: 0n }), []],
  [
    'no memory',
    memory({ availableBytes: 50n << 20n }),
    [
      'memory problem: 50 MiB of 8.0 GiB is available: below 100 MiB pods are evicted (memory.available) -> kubelet-ts top --sort-by memory; ps -eo rss,pid,comm --sort -rss | head',
    ],
  ],
  ['limited swap', memory({ swaps: swap }), []],
  [
    'swap that is not wanted',
    { ...memory({ swaps: swap }), ...settings({ refusesSwap: true }) },
    ['swap problem: /dev/sda2 is on and failSwapOn is set: run refuses to start -> swapoff /dev/sda2'],
  ],
  [
    'swap without a limit',
    memory({ swaps: swap, hasSwapController: false }),
    ['swap warning: /dev/sda2 is on, and the kernel cannot prevent pods from using it -> swapoff /dev/sda2'],
  ],
  [
    'a clock without a battery',
    { clock: { value: { now: 60_000, builtAt: Date.UTC(2026, 0, 1), stepsMs: [] } } },
    [
      'clock problem: it is 1970-01-01T00:01:00Z here, before this program was built: certificates are not valid yet -> Set the clock: timedatectl set-ntp true, or date -s "YYYY-MM-DD hh:mm:ss"',
    ],
  ],
  [
    'an upgrade that is not healthy yet',
    upgrade('pending'),
    [
      'upgrade warning: the upgrade from 0.1.0 to 0.2.0 is not healthy yet; its third failed start undoes it -> See what it waits for: systemctl status kubelet-ts',
    ],
  ],
  [
    'an upgrade that the guard has undone',
    upgrade('restored'),
    [
      'upgrade warning: The upgrade from 0.1.0 to 0.2.0 was undone, because it did not become healthy in three starts -> kubelet-ts upgrade FILE, or: rm /usr/local/bin/kubelet-ts.restored',
    ],
  ],
  [
    'a clock that was set',
    { clock: { value: { now: Date.UTC(2026, 5, 1), builtAt: 0, stepsMs: [5000, -3_600_000] } } },
    [
      'clock warning: was set 2 times since the boot, most recently by -3600 s -> timedatectl timesync-status; chronyc tracking',
    ],
  ],
  [
    'a root-dir of a user',
    path('root-dir', 1000, 0o40750),
    ['files problem: root-dir /p belongs to user 1000, not to root -> chown root: /p'],
  ],
  [
    'manifests that others may write',
    path('manifests', 0, 0o40777),
    ['files warning: manifests /p has mode 0777: others may write there -> chmod go-w /p'],
  ],
  [
    'an open control socket',
    path('control socket', 0, 0o140666),
    ['files problem: control socket /p has mode 0666: others may use it -> chmod 0600 /p'],
  ],
  [
    'missing manifests',
    { paths: [{ value: { what: 'manifests', path: '/p' } }] },
    ['files warning: manifests /p are missing -> mkdir -p /p'],
  ],
  [
    'a missing manifest',
    { paths: [{ value: { what: 'manifests', path: '/p/web.yaml' } }] },
    ['files warning: manifests /p/web.yaml are missing -> Write /p/web.yaml, or correct the path.'],
  ],
  [
    'a program on a host port of a pod',
    { hostPorts: { value: [{ pod: 'web', sentence: 'sshd of this node listens on host port 22/TCP' }] } },
    [
      'ports warning: pod web: sshd of this node listens on host port 22/TCP -> Choose another hostPort, or stop the program: ss -lntup',
    ],
  ],
  [
    'a port in use',
    { ports: [{ value: { port: 10248, flag: '--healthz-port', holder: { pid: 7, command: 'kubelet' } } }] },
    [
      'ports problem: 10248 is used by kubelet (pid 7) -> Stop that program, or choose another port: kubelet-ts run --healthz-port PORT',
    ],
  ],
  [
    'a runtime whose program is missing, which containerd does not know, and which no class names',
    { ...answer({ handlers: ['runc'] }), handlers: { value: { classes: [], dropIns } } },
    [
      'handlers problem: handler wasm: containerd-shim-wasm-v1 is not installed -> Install it, or correct its name in /c/1.toml.',
      `handlers problem: handler wasm: the running containerd does not know it yet -> ${restart}`,
      'handlers warning: handler wasm: no RuntimeClass names it -> Declare one next to the pod: kind: RuntimeClass, metadata: { name: wasm }, handler: wasm',
    ],
  ],
  [
    'files that containerd does not understand, or with which it does not start',
    {
      handlers: {
        value: {
          classes: [],
          dropIns: { ...dropIns, refused: ['a is left out'], unknown: ['b is unknown'], isLeftOut: true, runtimes: [] },
        },
      },
    },
    [
      `handlers problem: a is left out -> Correct the file. ${restart}`,
      `handlers warning: b is unknown -> Correct the key, or remove it. ${restart}`,
      "handlers problem: containerd did not start with the files in /c -> grep 'failed to load' /c.log",
    ],
  ],
  [
    'a class whose handler the runtime does not have',
    { ...answer({ handlers: ['runc'] }), handlers: { value: { classes: [{ name: 'gpu', handler: 'nvidia' }] } } },
    [
      'handlers problem: RuntimeClass gpu: the container runtime has no handler nvidia -> Add a runtime nvidia to the runtime, or correct the class.',
    ],
  ],
  [
    'CDI files that are broken or out of date, on an old containerd',
    {
      ...answer({ version: '1.6.20' }),
      cdi: {
        value: [
          { path: '/c/1.json', error: 'it names no device', names: [], missing: [] },
          {
            path: '/c/2.json',
            names: ['a/b=0'],
            missing: [
              { use: 'device', path: '/dev/x' },
              { use: 'hook', path: '/h' },
            ],
          },
        ],
      },
    },
    [
      'devices warning: containerd 1.6.20 has no CDI, so pods with these devices do not start -> Install containerd 1.7 or newer.',
      'devices problem: /c/1.json: it names no device -> Generate the file again, or remove it.',
      'devices problem: /c/2.json: device /dev/x is missing -> Load the driver of the device, then generate the file again.',
      'devices problem: /c/2.json: hook /h is missing -> Install the toolkit of the device, then generate the file again.',
    ],
  ],
  [
    'the port of our agent',
    {
      ports: [{ value: { port: 10248, flag: '--healthz-port', holder: { pid: 7, command: 'kubelet-ts' } } }],
      agents: { value: { own: { pid: 7 }, others: [] } },
    },
    [],
  ],
  [
    'an agent that hangs',
    { agents: { value: { own: { message: 'kubelet-ts (pid 7) does not answer' }, others: [] } } },
    ['agent problem: kubelet-ts (pid 7) does not answer -> kubelet-ts down'],
  ],
  [
    'pods without an agent',
    { agents: { value: { others: [], runningPods: 2 } } },
    [
      'agent warning: no kubelet-ts runs on this root-dir, but 2 pods run: nothing restarts or probes their containers' +
        ' -> Start it: systemctl start kubelet-ts, or kubelet-ts run MANIFEST',
    ],
  ],
  ['pods with their agent', { agents: { value: { own: { pid: 7 }, others: [], runningPods: 2 } } }, []],
  ['no pods and no agent', { agents: { value: { others: [], runningPods: 0 } } }, []],
  [
    'pods without a manifest',
    { agents: { value: { own: { pid: 7 }, others: [], undeclaredPods: 2 } } },
    [
      'agent warning: 2 pods of this root-dir run without a manifest -> Run the manifests that declare them, or: kubelet-ts run MANIFESTS --prune',
    ],
  ],
  [
    'a second kubelet',
    { agents: { value: { others: [{ pid: 9 }] } } },
    [
      'agent problem: kubelet (pid 9) also runs on this machine, and may remove the pods of kubelet-ts -> systemctl disable --now kubelet',
    ],
  ],
  [
    'a second kubelet on another runtime',
    { agents: { value: { others: [{ pid: 9 }] } }, runtime: { value: managed } },
    ['agent warning: kubelet (pid 9) also runs on this machine -> systemctl disable --now kubelet'],
  ],
  [
    'a registry that asks for a password',
    { registry: { value: { url: 'https://r/v2/', answer: { status: 401 } } } },
    [],
  ],
  [
    'a registry that is away',
    { registry: { value: { url: 'https://r/v2/', answer: { error: 'getaddrinfo ENOTFOUND r' } } } },
    ['registry problem: https://r/v2/ does not answer: getaddrinfo ENOTFOUND r -> curl -v https://r/v2/'],
  ],
  [
    'a fact that nobody may read',
    { kernel: { unseen: 'the kernel: only root can see this' } },
    ['kernel unseen: the kernel: only root can see this -> '],
  ],
])('finds %s, and the fix', (_broken, facts, found) => {
  expect(complaints(facts)).toEqual(found);
});
