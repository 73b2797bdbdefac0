import { expect, test } from 'vitest';
import { nearestName } from '../../../src/api/text/nearest-name.ts';

test.each([
  ['--nope', undefined],
  ['--no-tui', undefined],
  ['--node-i', '--node-ip'],
  ['--nodeip', '--node-ip'],
  ['--node-pi', '--node-ip'],
])('of --node-ip and --max-pods, %s most likely means %s', (written, meant) => {
  expect(nearestName(written, ['--node-ip', '--max-pods'])).toBe(meant);
});
