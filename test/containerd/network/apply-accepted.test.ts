import { expect, test } from 'vitest';
import type { ForwardedPort } from '../../../src/api/values/service.ts';
import { applyAccepted } from '../../../src/containerd/network/apply-accepted.ts';

const port = (name: string, more: Partial<ForwardedPort> = {}): ForwardedPort => ({
  name,
  service: { namespace: 'default', name },
  at: { clusterIP: '10.223.0.5' },
  protocol: 'TCP',
  port: 80,
  keepsSource: false,
  affinitySeconds: 0,
  endpoints: [{ ip: '10.222.0.5', port: 8080 }],
  ...more,
});
const ports = [
  port('web'),
  port('sctp', { protocol: 'SCTP' }),
  port('sticky', { affinitySeconds: 60 }),
  port('dns'),
  port('udp', { protocol: 'UDP' }),
  port('node', { at: { node: 'IPv4' } }),
];

/** Applies these ports on a kernel that refuses the ones of these names. */
async function applyOn(refuses: string[], wanted = ports): Promise<{ applied: string[]; refused?: string }> {
  let applied: string[] = [];
  const apply = (all: readonly ForwardedPort[]): Promise<boolean> => {
    const names = all.map(({ name }) => name);
    if (names.some((name) => refuses.includes(name))) return Promise.reject(new Error('missing kernel module?'));
    applied = names;
    return Promise.resolve(false);
  };
  const { refused } = await applyAccepted(wanted, apply);
  if (refused === undefined) return { applied };
  const { ports: left, modules, error } = refused;
  return { applied, refused: `${left.map(({ name }) => name).join()}: ${modules.join()}: ${String(error)}` };
}

test.each<[string, string[], { applied: string[]; refused?: string }]>([
  ['all', [], { applied: ['web', 'sctp', 'sticky', 'dns', 'udp', 'node'] }],
  [
    'all but SCTP',
    ['sctp'],
    { applied: ['web', 'sticky', 'dns', 'udp', 'node'], refused: 'sctp: xt_sctp: Error: missing kernel module?' },
  ],
  [
    'all but SCTP and affinity',
    ['sctp', 'sticky'],
    {
      applied: ['web', 'dns', 'udp', 'node'],
      refused: 'sctp,sticky: xt_sctp,xt_recent: Error: missing kernel module?',
    },
  ],
  [
    'all but UDP',
    ['udp'],
    { applied: ['web', 'sctp', 'sticky', 'dns', 'node'], refused: 'udp: xt_CT: Error: missing kernel module?' },
  ],
  [
    'all but ports of the node',
    ['node'],
    { applied: ['web', 'sctp', 'sticky', 'dns', 'udp'], refused: 'node: xt_addrtype: Error: missing kernel module?' },
  ],
])('a kernel gets the rules of %s', async (_what, refuses, expected) => {
  expect(await applyOn(refuses)).toEqual(expected);
});

test('a kernel that refuses the other ports too is an error', async () => {
  await expect(applyOn(['web'])).rejects.toThrow('missing kernel module?');
  await expect(applyOn(['web'], [port('web')])).rejects.toThrow('missing kernel module?');
});
