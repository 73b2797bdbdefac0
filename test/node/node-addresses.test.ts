import type { NetworkInterfaceInfo } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import type { HostNetwork } from '../../src/node/detect-node-ips.ts';
import { computeNodeIPs, NodeAddresses } from '../../src/node/node-addresses.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { lineLogger } from '../fakes/line-logger.ts';

/** A machine whose only interface, besides loopback, has this address. */
function network(address?: string): HostNetwork {
  const info = (ip: string, internal: boolean): NetworkInterfaceInfo => ({
    ...{ address: ip, netmask: '', mac: '', internal, cidr: null, family: 'IPv4' },
  });
  const eth0 = address === undefined ? [] : [info(address, false)];
  return { interfaces: { lo: [info('127.0.0.1', true)], eth0 }, routes: '', isBridge: () => false };
}

test.each([
  ['the one of the interface', [], '192.0.2.9', ['192.0.2.7'], { ips: ['192.0.2.9'], absent: [] }],
  ['127.0.0.1 before there is a network', [], undefined, [], { ips: ['127.0.0.1'], absent: [] }],
  ['the earlier one after the network is lost', [], undefined, ['192.0.2.7'], { ips: ['192.0.2.7'], absent: [] }],
  ['that of --node-ip, if it exists', ['192.0.2.9'], '192.0.2.9', [], { ips: ['192.0.2.9'], absent: [] }],
  [
    'that of --node-ip, if it is missing',
    ['192.0.2.1'],
    '192.0.2.9',
    [],
    { ips: ['192.0.2.1'], absent: ['192.0.2.1'] },
  ],
])('the address of a node is %s', (_what, given, address, before, expected) => {
  expect(computeNodeIPs(given, network(address), before)).toEqual(expected);
});

/** A node that follows a machine, whose changes are reported by `monitors`. */
function follow(given: readonly string[] = []) {
  const clock = new FakeClock();
  const { logger, lines } = lineLogger();
  const machine: { address: string | undefined } = { address: undefined };
  const monitors: { onChange: () => void; end: () => void }[] = [];
  const addresses = new NodeAddresses({
    given,
    readNetwork: () => network(machine.address),
    monitor: (onChange) => new Promise((end) => monitors.push({ onChange, end })),
    clock,
    logger,
  });
  const changes: (readonly string[])[] = [];
  const stopping = new AbortController();
  const following = addresses.follow((before) => changes.push([...before, ...addresses.current()]), stopping.signal);
  following.catch(() => undefined);
  onTestFinished(() => {
    stopping.abort();
  });
  return { clock, lines, machine, monitors, addresses, changes };
}

test('a network that comes after the agent is noticed, and so is each later address, once', async () => {
  const { clock, machine, monitors, addresses, changes } = follow();
  expect(addresses.current()).toEqual(['127.0.0.1']);
  machine.address = '192.0.2.99';
  await clock.advance(5000);
  await clock.advance(500);
  machine.address = '192.0.2.55';
  for (let report = 0; report < 3; report++) monitors[0]?.onChange();
  await clock.advance(500);
  monitors[0]?.onChange();
  await clock.advance(500);
  expect(changes).toEqual([
    ['127.0.0.1', '192.0.2.99'],
    ['192.0.2.99', '192.0.2.55'],
  ]);
});

test('a machine that cannot report changes is checked once a minute', async () => {
  const { clock, machine, monitors, changes } = follow();
  await clock.advance(5000);
  monitors[0]?.end();
  await clock.advance(1000);
  machine.address = '192.0.2.55';
  await clock.advance(58_000);
  expect(changes).toEqual([]);
  await clock.advance(2000);
  expect(changes).toEqual([['127.0.0.1', '192.0.2.55']]);
  expect(monitors).toHaveLength(2);
});

test('--node-ip wins, and is logged while no interface has it', async () => {
  const { clock, lines, machine, monitors, addresses, changes } = follow(['192.0.2.1']);
  await clock.advance(5500);
  machine.address = '192.0.2.1';
  monitors[0]?.onChange();
  await clock.advance(500);
  expect({ ips: addresses.current(), changes }).toEqual({ ips: ['192.0.2.1'], changes: [] });
  expect(lines).toEqual([
    'warn No interface of this machine has the address of --node-ip {"nodeIP":["192.0.2.1"],"hint":"Correct --node-ip, or give the address to an interface: ip address"}',
    'info An interface of this machine has the address of --node-ip again {"nodeIP":["192.0.2.1"]}',
  ]);
});
