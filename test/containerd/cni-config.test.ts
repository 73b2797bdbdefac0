import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureCNIConfig, removeBridge, type CNIOptions } from '../../src/containerd/cni-config.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const allPlugins = ['bridge', 'host-local', 'loopback', 'portmap', 'firewall'];

async function machine(
  options: { plugins?: readonly string[]; iptables?: boolean } = {},
): Promise<CNIOptions & { file: string }> {
  const { plugins = allPlugins, iptables = true } = options;
  const folder = await temporaryFolder();
  const at = (name: string): string => join(folder, name);
  for (const name of ['empty', 'bin', 'machine.d']) await mkdir(at(name));
  for (const name of plugins) await writeFile(join(at('bin'), name), '');
  if (iptables) await writeFile(join(at('bin'), 'iptables'), '');
  return {
    confDir: at('net.d'),
    file: join(at('net.d'), '10-kubelet-ts.conflist'),
    machineConfDir: at('machine.d'),
    binDirs: [at('empty'), at('bin')],
    hostRoutes: [],
    programFolders: [at('bin')],
    claimsDir: at('claims'),
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

test('writes a bridge network with port mapping where the machine has no configuration', async () => {
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
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: '10.222.0.0/24' }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: '/run/kubelet-ts/cni',
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
      { type: 'firewall' },
    ],
  });
});

test('keeps the subnet of an earlier start although the bridge now has its route', async () => {
  const options = await machine();
  await ensureCNIConfig(options);
  const again = await ensureCNIConfig({ ...options, hostRoutes: [{ address: 0x0ade0000, prefixLength: 24 }] });
  expect(again.subnet).toBe('10.222.0.0/24');
});

test('warns that only hostNetwork pods run when a needed plugin is missing, and writes nothing', async () => {
  const options = await machine({ plugins: ['loopback', 'portmap'] });
  const setup = await ensureCNIConfig(options);
  expect(setup.subnet).toBeUndefined();
  expect(setup.warnings).toEqual([expect.stringContaining('CNI plugins are missing (bridge, host-local;') as string]);
  await expect(readFile(options.file)).rejects.toThrow('ENOENT');
});

test('leaves out port mapping and says so when its plugin is missing', async () => {
  const options = await machine({ plugins: ['bridge', 'host-local', 'loopback'] });
  expect((await ensureCNIConfig(options)).warnings).toEqual([
    'The CNI plugin portmap is missing: hostPort does not work.',
  ]);
  expect(await readFile(options.file, 'utf8')).not.toContain('portmap');
});

test('goes without masquerading and port mapping when there is no iptables', async () => {
  const options = await machine({ iptables: false });
  expect((await ensureCNIConfig(options)).warnings).toEqual([
    'iptables is not installed: pods cannot reach other machines, and hostPort does not work.',
  ]);
  const config = await readFile(options.file, 'utf8');
  expect(config).toContain('"ipMasq": false');
  expect(config).not.toContain('portmap');
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

test('the subnet of a root-dir that is gone is free again', async () => {
  const one = await machine();
  await ensureCNIConfig(one);
  await rm(one.confDir, { recursive: true });
  expect((await ensureCNIConfig(await beside(one))).subnet).toBe('10.222.0.0/24');
  expect((await readdir(one.claimsDir ?? '')).filter((name) => name.endsWith('.claim'))).toHaveLength(1);
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
])('of bridges it removes %s', async (_what, bridge, ports, deleted) => {
  const options = await machine();
  await ensureCNIConfig(options);
  const { log, ...machineIP } = await fakeIP(bridge, ports);
  await removeBridge(options.confDir, { logger: silentLogger, claimsDir: options.claimsDir ?? '', ...machineIP });
  expect(await readFile(log, 'utf8')).toBe(deleted);
});

test('a bridge that an earlier release gave to two root-dirs goes with the last one', async () => {
  const one = await machine();
  const other = await beside(one);
  await ensureCNIConfig(one);
  await copyFile(one.file, join(other.confDir, '10-kubelet-ts.conflist'));
  await ensureCNIConfig(other);
  const { log, ...machineIP } = await fakeIP('kts0ade00', '');
  const remove = (confDir: string): Promise<void> =>
    removeBridge(confDir, { logger: silentLogger, claimsDir: one.claimsDir ?? '', ...machineIP });
  await remove(one.confDir);
  expect(await readFile(log, 'utf8')).toBe('');
  await rm(one.confDir, { recursive: true });
  await remove(other.confDir);
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
  await removeBridge(options.confDir, {
    logger,
    interfacesFile,
    claimsDir: options.claimsDir ?? '',
    ip: ip === undefined ? '/nowhere/ip' : program,
  });
  expect(warnings).toEqual([said]);
});
