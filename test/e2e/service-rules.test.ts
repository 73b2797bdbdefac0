import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ForwardedPort } from '../../src/api/values/service.ts';
import { systemClock } from '../../src/clock.ts';
import { packetFilter } from '../../src/containerd/network/packet-filter.ts';
import { ServiceNetwork } from '../../src/containerd/service-network.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { NetworkNamespace } from './network-namespace.ts';

const port = (name: string, clusterIP: string, ip: string): ForwardedPort => ({
  name: `default/${name}`,
  service: { namespace: 'default', name },
  at: { clusterIP },
  protocol: 'UDP',
  port: 53,
  keepsSource: false,
  affinitySeconds: 0,
  endpoints: [{ ip, port: 53 }],
});
const forwarding = (...ports: ForwardedPort[]) => ({ subnets: ['10.223.0.0/22', 'fd00:223::/112'], ports });
const other = port('other', '10.223.0.6', '10.222.0.6');
const before = forwarding(port('web', '10.223.0.5', '10.222.0.5'), port('web', 'fd00:223::5', 'fd11::5'), other);
const after = forwarding(port('web', '10.223.0.5', '10.222.0.7'), port('web', 'fd00:223::5', 'fd11::7'), other);

const families = { IPv4: 'iptables', IPv6: 'ip6tables' } as const;
let namespace: NetworkNamespace;
let folder: string;
let network: ServiceNetwork;

/** Programs that work in the namespace. */
async function writePrograms(restore: string): Promise<void> {
  for (const program of Object.values(families)) {
    const inside = `exec nsenter --net=${namespace.path} /usr/sbin/${program}`;
    await writeFile(join(folder, `${program}-save`), `#!/bin/sh\n${inside}-save "$@"\n`, { mode: 0o755 });
    await writeFile(join(folder, `${program}-restore`), `#!/bin/sh\n${restore}\n${inside}-restore "$@"\n`, {
      mode: 0o755,
    });
  }
}

/** All rules of both families. */
async function listRules(): Promise<string[]> {
  const saved = await Promise.all(['iptables-save', 'ip6tables-save'].map((program) => namespace.run(program)));
  return saved.flatMap((text) => text.split('\n').filter((line) => line.startsWith('-'))).sort();
}

beforeAll(async () => {
  namespace = await NetworkNamespace.create();
  folder = await mkdtemp(join(tmpdir(), 'kts-rules-'));
  await writePrograms('');
  network = new ServiceNetwork({
    rootDir: folder,
    choice: {},
    bridge: () => Promise.resolve(undefined),
    filters: () =>
      Promise.resolve([
        packetFilter('IPv4', join(folder, families.IPv4)),
        packetFilter('IPv6', join(folder, families.IPv6)),
      ]),
    clock: systemClock,
    logger: silentLogger,
  });
});
afterAll(async () => {
  await namespace.remove();
  await rm(folder, { recursive: true });
});

test.each([
  ['iptables -F'],
  ['iptables -t nat -F; iptables -t nat -X; iptables -t raw -F'],
  ['nft flush ruleset'],
  ['ip6tables -t nat -F'],
])('after "%s", a change or a check restores everything, and the check reports both', async (command) => {
  await network.forward(after);
  const expected = await listRules();
  await namespace.run('sh', '-c', command);
  expect(await network.check()).toBe(true);
  expect(await listRules()).toEqual(expected);
  await network.forward(before);
  await namespace.run('sh', '-c', command);
  await network.forward(after);
  expect(await listRules()).toEqual(expected);
  expect(await network.check()).toBe(true);
  expect(await network.check()).toBe(false);
});

test('a change that fails half-way is completed, or taken back, by the next one', async () => {
  await network.forward(before);
  const expected = await listRules();
  await writePrograms('[ "$0" = "${0%ip6tables-restore}" ] || { echo "No space" >&2; exit 1; }');
  await expect(network.forward(after)).rejects.toThrow('No space');
  await writePrograms('');
  await network.forward(before);
  expect(await listRules()).toEqual(expected);
  await network.forward({ subnets: [], ports: [] });
  expect(await listRules()).toEqual([]);
});
