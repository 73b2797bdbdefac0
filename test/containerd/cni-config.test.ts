import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureCNIConfig, type CNIOptions } from '../../src/containerd/cni-config.ts';
import { removeBridge } from '../../src/containerd/remove-bridge.ts';
import type { Route } from '../../src/containerd/cni-subnet.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { fillUntilFreed, mountSmallDisk } from '../support/full-disk.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const allPlugins = ['bridge', 'host-local', 'loopback', 'portmap', 'firewall'];

/** The bridge of the first subnet. */
const bridge = { bridge: 'kts0ade00', subnets: ['10.222.0.0/24'] };
const lan: Route = { device: 'eth0', address: 0x0ade0000, prefixLength: 24 };

async function machine(
  options: { plugins?: readonly string[]; iptables?: boolean; hasNAT6?: boolean } = {},
): Promise<CNIOptions & { file: string }> {
  const { plugins = allPlugins, iptables = true, hasNAT6 = true } = options;
  const folder = await temporaryFolder();
  const at = (name: string): string => join(folder, name);
  for (const name of ['empty', 'bin', 'machine.d']) await mkdir(at(name));
  for (const name of plugins) await writeFile(join(at('bin'), name), '');
  const script = `#!/bin/sh\nexit ${hasNAT6 ? 0 : 3}\n`;
  if (iptables)
    for (const name of ['iptables', 'ip6tables']) await writeFile(join(at('bin'), name), script, { mode: 0o755 });
  return {
    confDir: at('net.d'),
    file: join(at('net.d'), '10-kubelet-ts.conflist'),
    machineConfDir: at('machine.d'),
    binDirs: [at('empty'), at('bin')],
    hostRoutes: [],
    uplink: { mtu: undefined, ipv6Devices: [] },
    programFolders: [at('bin')],
    reservationsDir: at('claims'),
    addressesDir: at('addresses'),
    firewalldFile: at('firewalld.pid'),
  };
}

test("uses the machine's configuration where there is one", async () => {
  const options = await machine();
  await writeFile(join(options.machineConfDir ?? '', '10-calico.conflist'), '{}');
  expect(await ensureCNIConfig(options)).toEqual({
    confDir: options.machineConfDir,
    binDir: options.binDirs?.[1],
    subnet: undefined,
    warnings: [],
  });
});

test("names what is wrong in the machine's configuration", async () => {
  const options = await machine();
  const file = join(options.machineConfDir ?? '', '10-broken.conflist');
  await writeFile(file, '{\n  "name": "x"\n  "plugins": []\n}');
  const start = `The CNI configuration ${file} is not valid (line 3, column 3: `;
  expect((await ensureCNIConfig(options)).warnings).toEqual([expect.stringContaining(start)]);
});

test('writes a bridge network where the machine has no configuration', async () => {
  const options = await machine();
  expect(await ensureCNIConfig(options)).toEqual({
    confDir: options.confDir,
    binDir: options.binDirs?.[1],
    subnet: '10.222.0.0/24',
    warnings: [],
  });
  expect(JSON.parse(await readFile(options.file, 'utf8'))).toEqual({
    cniVersion: '0.4.0',
    name: 'kubelet-ts',
    plugins: [
      {
        type: 'bridge',
        bridge: 'kts0ade00',
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: '10.222.0.0/24' }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: join(options.addressesDir ?? '', 'kts0ade00'),
        },
      },
    ],
  });
});

test('keeps the subnet of an earlier start although the bridge now has its route', async () => {
  const options = await machine();
  await ensureCNIConfig(options);
  const again = await ensureCNIConfig({ ...options, hostRoutes: [{ ...lan, device: 'kts0ade00' }] });
  expect(again.subnet).toBe('10.222.0.0/24');
});

test('warns that only hostNetwork pods run when a needed plugin is missing, and writes nothing', async () => {
  const options = await machine({ plugins: ['loopback', 'portmap'] });
  const setup = await ensureCNIConfig(options);
  expect(setup.subnet).toBeUndefined();
  expect(setup.warnings).toEqual([expect.stringContaining('CNI plugins are missing (bridge, host-local;') as string]);
  await expect(readFile(options.file)).rejects.toThrow('ENOENT');
});

test('warns that pods may have no network while a disk is full, and writes the configuration later', async () => {
  const options = await machine();
  const { reservationsDir = '' } = options;
  await mkdir(reservationsDir);
  await mountSmallDisk(reservationsDir, 64);
  const freeDisk = await fillUntilFreed(reservationsDir);
  const nothing = { confDir: options.confDir, binDir: options.binDirs?.[1], subnet: undefined };
  expect(await ensureCNIConfig(options)).toEqual({
    ...nothing,
    warnings: [
      expect.stringMatching(
        /^The pod network cannot be configured, because .*\/claims\/.* cannot be written: no space left on device\. Until/,
      ),
    ],
  });
  await freeDisk();
  expect(await ensureCNIConfig(options)).toEqual({ ...nothing, subnet: '10.222.0.0/24', warnings: [] });
});

test('says what does not work when there is no iptables', async () => {
  const options = await machine({ iptables: false });
  expect((await ensureCNIConfig(options)).warnings).toEqual([
    'iptables is not installed: pods cannot reach other machines, and hostPort does not work.',
  ]);
});

test('has the plugin firewall in the network only while firewalld runs', async () => {
  const options = await machine();
  await writeFile(options.firewalldFile ?? '', '7');
  await ensureCNIConfig(options);
  expect(await readFile(options.file, 'utf8')).toContain('"type": "firewall"');
  await rm(options.firewalldFile ?? '');
  await ensureCNIConfig(options);
  expect(await readFile(options.file, 'utf8')).not.toContain('"type": "firewall"');
});

/** A machine with our network, and a pod on it. */
async function machineWithPod(): ReturnType<typeof machine> {
  const options = await machine();
  await ensureCNIConfig(options);
  await addPod(options);
  return options;
}

const recordOf = ({ addressesDir = '' }: CNIOptions, folder = 'kts0ade00'): string =>
  join(addressesDir, folder, 'kubelet-ts', '10.222.0.7');

/** Records the address of a pod as the plugin does. */
async function addPod(options: CNIOptions, folder?: string): Promise<void> {
  const record = recordOf(options, folder);
  await mkdir(dirname(record), { recursive: true });
  await writeFile(record, 'id');
}

test("keeps our network while pods are on it although the machine's configuration appeared, and says how to switch", async () => {
  const options = await machineWithPod();
  const podman = join(options.machineConfDir ?? '', '87-podman.conflist');
  await writeFile(podman, '{}');
  const switching = 'run "kubelet-ts down --all" and start again';
  const kept = await ensureCNIConfig(options);
  expect([kept.confDir, kept.warnings]).toEqual([
    options.confDir,
    [`${podman} is not used while pods are on the bridge of kubelet-ts; to switch to it, ${switching}.`],
  ]);
  await rm(recordOf(options));
  expect((await ensureCNIConfig({ ...options, isFixed: true })).confDir).toBe(options.confDir);
  expect((await ensureCNIConfig(options)).confDir).toBe(options.machineConfDir);
});

test('replaces a subnet that a route overlaps once no pod uses it, and names both until then', async () => {
  const options = { ...(await machineWithPod()), hostRoutes: [lan] };
  const used = await ensureCNIConfig(options);
  expect([used.subnet, used.warnings]).toEqual([
    '10.222.0.0/24',
    [
      "The route 10.222.0.0/24 of eth0 overlaps the pods' subnet 10.222.0.0/24 (bridge kts0ade00), so one of them is cut off; " +
        'to get another subnet, run "kubelet-ts down --all" and start again.',
    ],
  ]);
  await rm(recordOf(options));
  const free = await ensureCNIConfig(options);
  expect([free.subnet, free.warnings]).toEqual(['10.222.1.0/24', []]);
});

test('--pod-cidr chooses the subnets once no pod uses others', async () => {
  const options = { ...(await machineWithPod()), podCIDR: { ipv4: '10.50.0.128/25', ipv6: 'fd00:50::/64' } };
  const waiting = await ensureCNIConfig(options);
  expect([waiting.subnet, waiting.warnings]).toEqual([
    '10.222.0.0/24',
    [
      '--pod-cidr 10.50.0.128/25 waits, because pods use 10.222.0.0/24; to switch, run "kubelet-ts down --all" and start again.',
    ],
  ]);
  await rm(recordOf(options));
  await ensureCNIConfig(options);
  expect(JSON.parse(await readFile(options.file, 'utf8'))).toMatchObject({
    plugins: [
      { bridge: 'kts0a320080', ipam: { ranges: [[{ subnet: '10.50.0.128/25' }], [{ subnet: 'fd00:50::/64' }]] } },
    ],
  });
});

test("pods have the uplink's MTU unless a flag chooses one, and IPv6 where the uplink has it", async () => {
  const options = { ...(await machine()), uplink: { mtu: 1400, ipv6Devices: ['eth0'] } };
  const read = async (): Promise<{ mtu: number; ipam: { ranges: { subnet: string }[][]; routes: unknown } }> => {
    const { plugins } = JSON.parse(await readFile(options.file, 'utf8')) as {
      plugins: [Awaited<ReturnType<typeof read>>];
    };
    return plugins[0];
  };
  await ensureCNIConfig(options);
  const { mtu, ipam } = await read();
  expect([mtu, ipam.routes]).toEqual([1400, [{ dst: '0.0.0.0/0' }, { dst: '::/0' }]]);
  expect(ipam.ranges).toEqual([
    [{ subnet: '10.222.0.0/24' }],
    [{ subnet: expect.stringMatching(/^fd[0-9a-f]{2}:[0-9a-f]{4}:[0-9a-f]{4}::\/64$/) as string }],
  ]);
  await ensureCNIConfig({ ...options, mtu: 1280, uplink: { mtu: 1400, ipv6Devices: [] } });
  const later = await read();
  expect([later.mtu, later.ipam]).toEqual([1280, ipam]);
});

test('pods have no IPv6 on a kernel without NAT of IPv6', async () => {
  const options = { ...(await machine({ hasNAT6: false })), uplink: { mtu: undefined, ipv6Devices: ['eth0'] } };
  await ensureCNIConfig(options);
  const { plugins } = JSON.parse(await readFile(options.file, 'utf8')) as { plugins: { ipam?: { ranges: unknown } }[] };
  expect(plugins[0]?.ipam?.ranges).toEqual([[{ subnet: '10.222.0.0/24' }]]);
});

test('the configuration of an earlier release stays while pods are on it, so that its plugins clean up', async () => {
  const options = await machineWithPod();
  const earlier = (await readFile(options.file, 'utf8')).replace('"plugins": [', '"plugins": [{"type": "portmap"},');
  await writeFile(options.file, earlier);
  await ensureCNIConfig(options);
  expect(await readFile(options.file, 'utf8')).toBe(earlier);
  await rm(recordOf(options));
  await ensureCNIConfig(options);
  expect(await readFile(options.file, 'utf8')).not.toContain('portmap');
});

test('the addresses of an earlier release, in one folder for all subnets, stay there while pods use them', async () => {
  const options = await machine();
  await ensureCNIConfig(options);
  const written = await readFile(options.file, 'utf8');
  const earlier = written.replace(`${options.addressesDir}/kts0ade00`, `${options.addressesDir}`);
  await writeFile(options.file, earlier);
  await addPod(options, '.');
  await ensureCNIConfig({ ...options, podCIDR: { ipv4: '10.50.0.0/24' } });
  expect(await readFile(options.file, 'utf8')).toBe(earlier);
  await rm(recordOf(options, '.'));
  await ensureCNIConfig(options);
  expect(await readFile(options.file, 'utf8')).toBe(written);
});

/** A second root-dir of the same machine. */
const beside = async (options: CNIOptions): Promise<CNIOptions> => ({ ...options, confDir: await temporaryFolder() });

test('root-dirs of one machine choose different subnets, also at the same moment, and keep them', async () => {
  const one = await machine();
  const other = await beside(one);
  const choose = (): Promise<(string | undefined)[]> =>
    Promise.all([one, other].map(async (options) => (await ensureCNIConfig(options)).subnet));
  const chosen = await choose();
  expect(chosen.toSorted()).toEqual(['10.222.0.0/24', '10.222.1.0/24']);
  expect(await choose()).toEqual(chosen);
});

test('the subnet of a root-dir that was removed is free again', async () => {
  const one = await machine();
  await ensureCNIConfig(one);
  await rm(one.confDir, { recursive: true });
  expect((await ensureCNIConfig(await beside(one))).subnet).toBe('10.222.0.0/24');
  expect((await readdir(one.reservationsDir ?? '')).filter((name) => name.endsWith('.claim'))).toHaveLength(1);
});

test('a root-dir that is a copy of another one gets its own subnet', async () => {
  const one = await machine();
  const copy = await beside(one);
  await ensureCNIConfig(one);
  await copyFile(one.file, join(copy.confDir, '10-kubelet-ts.conflist'));
  expect((await ensureCNIConfig(copy)).subnet).toBe('10.222.1.0/24');
});

test('a --pod-cidr that another root-dir uses is not used, and a warning says so', async () => {
  const one = { ...(await machine()), podCIDR: { ipv4: '10.50.0.0/24' } };
  await ensureCNIConfig(one);
  const { subnet, warnings } = await ensureCNIConfig({ ...(await beside(one)), podCIDR: { ipv4: '10.50.0.0/16' } });
  expect([subnet, warnings]).toEqual([
    '10.222.0.0/24',
    ['--pod-cidr 10.50.0.0/16 is not used, because another root-dir of this machine uses it: pods get 10.222.0.0/24.'],
  ]);
});

/** An `ip` that knows one bridge, with these interfaces on it, and notes its deletion. */
async function fakeIP(bridge: string, ports: string): Promise<{ interfacesFile: string; ip: string; log: string }> {
  const folder = await temporaryFolder();
  const [interfacesFile, ip, log] = ['dev', 'ip', 'log'].map((name) => join(folder, name)) as [string, string, string];
  await writeFile(interfacesFile, `Inter-| Receive\n face |bytes\n    lo: 0 0\n${bridge}: 0 0\n`);
  await writeFile(ip, `#!/bin/sh\nif [ "$2" = link ]; then printf '${ports}'; else echo "$@" >> ${log}; fi\n`, {
    mode: 0o755,
  });
  await writeFile(log, '');
  return { interfacesFile, ip, log };
}

test.each([
  ['its own', 'kts0ade00', '', 'link delete kts0ade00\n'],
  ['one of another subnet', 'kts0ade01', '', ''],
  ['one that interfaces of others are on', 'kts0ade00', '7: veth1 master kts0ade00', ''],
])('removes %s among the bridges', async (_what, present, ports, deleted) => {
  const options = await machine();
  await ensureCNIConfig(options);
  const { log, ...machineIP } = await fakeIP(present, ports);
  await removeBridge(bridge, {
    file: options.file,
    logger: silentLogger,
    reservationsDir: options.reservationsDir ?? '',
    ...machineIP,
  });
  expect(await readFile(log, 'utf8')).toBe(deleted);
});

test('a bridge that an earlier release gave to two root-dirs goes with the last one', async () => {
  const one = await machine();
  const other = await beside(one);
  await ensureCNIConfig(one);
  await copyFile(one.file, join(other.confDir, '10-kubelet-ts.conflist'));
  await addPod(other);
  await ensureCNIConfig(other);
  const { log, ...machineIP } = await fakeIP('kts0ade00', '');
  const remove = ({ confDir }: CNIOptions): Promise<void> =>
    removeBridge(bridge, {
      file: join(confDir, '10-kubelet-ts.conflist'),
      logger: silentLogger,
      reservationsDir: one.reservationsDir ?? '',
      ...machineIP,
    });
  await remove(one);
  expect(await readFile(log, 'utf8')).toBe('');
  await rm(one.confDir, { recursive: true });
  await remove(other);
  expect(await readFile(log, 'utf8')).toBe('link delete kts0ade00\n');
});

test.each([
  {
    program: 'a machine without ip',
    ip: undefined,
    said: 'Kept the bridge kts0ade00 ("ip" is missing, install the package iproute2); remove it with "ip link delete kts0ade00"',
  },
  {
    program: 'an ip that refuses',
    ip: `#!/bin/sh\necho Operation not permitted >&2\nexit 2\n`,
    said: 'Kept the bridge kts0ade00 (Operation not permitted); remove it with "ip link delete kts0ade00"',
  },
])('says that the bridge stays: $program', async ({ ip, said }) => {
  const options = await machine();
  await ensureCNIConfig(options);
  const { interfacesFile, ip: program } = await fakeIP('kts0ade00', '');
  if (ip !== undefined) await writeFile(program, ip);
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (text: string) => warnings.push(text) };
  await removeBridge(bridge, {
    file: options.file,
    logger,
    interfacesFile,
    reservationsDir: options.reservationsDir ?? '',
    ip: ip === undefined ? '/nowhere/ip' : program,
  });
  expect(warnings).toEqual([said]);
});

test.each([
  ['is empty', ''],
  ['has half of its text', '{\n  "cniVersion": "1.0.0",\n  "name": "kubelet-ts",\n'],
  ['has NUL bytes', '\0'.repeat(100)],
])('a warning names our configuration if it %s, and it is written again', async (_damage, text) => {
  const options = await machine();
  await mkdir(dirname(options.file));
  await writeFile(options.file, text);
  expect((await ensureCNIConfig(options)).warnings).toEqual([`${options.file} was damaged and is written anew.`]);
  expect((await ensureCNIConfig(options)).warnings).toEqual([]);
});
