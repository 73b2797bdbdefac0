import { expect, test } from 'vitest';
import { portExchange, type Replacement } from '../../../src/engine/lifecycle/port-exchange.ts';
import type { Pod } from '../../../src/api/types.ts';
import { makePod } from '../../builders/pods.ts';

function onPort(hostPort: number): Pod {
  return makePod({ spec: { containers: [{ name: 'main', ports: [{ containerPort: 80, hostPort }] }] } });
}

const replacement = (from: number, to: number): Replacement => ({ current: onPort(from), next: onPort(to) });

test.each([
  { what: 'that wants a free port goes alone', wants: replacement(1, 9), others: [replacement(2, 3)], together: 1 },
  { what: 'that keeps its port goes alone', wants: replacement(1, 1), others: [replacement(2, 3)], together: 1 },
  {
    what: 'goes with those that pass their ports round',
    wants: replacement(1, 2),
    others: [replacement(2, 3), replacement(3, 1), replacement(4, 1)],
    together: 3,
  },
])('a replacement $what', ({ wants, others, together }) => {
  const all = [wants, ...others];
  expect(portExchange(wants, all)).toEqual(all.slice(0, together));
});

test('a revision of an earlier life holds no port that is known', () => {
  const wants = replacement(1, 2);
  expect(portExchange(wants, [{ current: undefined, next: onPort(1) }])).toEqual([wants]);
});
