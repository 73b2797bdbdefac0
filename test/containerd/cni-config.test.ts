import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureCNIConfig, removeBridge, type CNIOptions } from '../../src/containerd/cni-config.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../temporary-folder.ts';

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

test.each([
  {
    program: 'a machine without ip',
    ip: '/nowhere/ip',
    said: [
      'The bridge kts0ade00 stays (there is no "ip" here, the package iproute2 has it); "ip link delete kts0ade00" removes it',
    ],
  },
  {
    program: 'an ip that refuses',
    ip: `#!/bin/sh\necho Operation not permitted >&2\nexit 2\n`,
    said: ['The bridge kts0ade00 stays (Operation not permitted); "ip link delete kts0ade00" removes it'],
  },
  { program: 'an ip that does it', ip: `#!/bin/sh\nrmdir "$(dirname "$0")/net/$3"\n`, said: [] },
])('removes the bridge, or says that it stays: $program', async ({ ip, said }) => {
  const options = await machine();
  await ensureCNIConfig(options);
  const folder = await temporaryFolder();
  const interfacesDir = join(folder, 'net');
  await mkdir(join(interfacesDir, 'kts0ade00'), { recursive: true });
  const program = join(folder, 'ip');
  await writeFile(program, ip, { mode: 0o755 });
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (text: string) => warnings.push(text) };
  await removeBridge(options.confDir, { logger, interfacesDir, ip: ip.startsWith('#!') ? program : ip });
  expect({ warnings, left: await readdir(interfacesDir) }).toEqual({
    warnings: said,
    left: said.length > 0 ? ['kts0ade00'] : [],
  });
});
