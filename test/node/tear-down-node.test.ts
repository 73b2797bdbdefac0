import { expect, test } from 'vitest';
import { withStopped } from '../../src/node/tear-down-node.ts';

test('only a pod whose processes were stopped without containerd counts as stopped', () => {
  const failure = (pod: string) => ({ uid: `uid-${pod}`, pod, reason: 'EROFS', mayRun: true });
  const [web, db, job] = [failure('web'), failure('db'), failure('job')];
  const exited = { ...failure('old'), mayRun: false };
  expect(withStopped([web, db, job, exited], ['uid-web', 'uid-old', 'uid-other'])).toEqual([
    { ...web, mayRun: false, reason: 'it is stopped, but EROFS' },
    db,
    job,
    exited,
  ]);
});
