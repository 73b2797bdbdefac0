import { expect, test } from 'vitest';
import { withNodeIPs } from '../../../src/engine/take-snapshot.ts';

const nodeIPs = ['192.0.2.2', 'fd00::2'];
const hostIPs = [{ ip: '192.0.2.2' }, { ip: 'fd00::2' }];
const containers = [{ name: 'app' }];

test('a pod on the host network has the addresses of the node, and says so', () => {
  expect(withNodeIPs({ phase: 'Running' }, { containers, hostNetwork: true }, nodeIPs)).toEqual({
    phase: 'Running',
    hostIP: '192.0.2.2',
    hostIPs,
    podIP: '192.0.2.2',
    podIPs: hostIPs,
  });
});

test('another pod keeps its own, or waits for them', () => {
  const own = { podIP: '10.88.0.2', podIPs: [{ ip: '10.88.0.2' }] };
  expect([own, {}].map((status) => withNodeIPs(status, { containers }, nodeIPs))).toEqual([
    { ...own, hostIP: '192.0.2.2', hostIPs },
    { hostIP: '192.0.2.2', hostIPs },
  ]);
});
