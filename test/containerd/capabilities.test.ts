import { expect, test } from 'vitest';
import { hasSysResource } from '../../src/containerd/containerd-launch.ts';

test.each([
  ['000001ffffffffff', true],
  ['000001fffeffffff', false],
  ['0000000001000000', true],
  ['0000000000000000', false],
])('with effective capabilities %s, CAP_SYS_RESOURCE is %s', (effective, expected) => {
  expect(hasSysResource(`Name:\tnode\nCapPrm:\t0000000000000000\nCapEff:\t${effective}\n`)).toBe(expected);
});
