import { expect, test } from 'vitest';
import { podTable } from '../../../src/engine/listing/pod-table.ts';
import type { EngineSnapshot, PodSnapshot, SourceSnapshot } from '../../../src/engine/view/snapshot.ts';
import { podReason } from '../../../src/tui/pod-reason.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';

/** Why `web` is not well, on the screen and in the list of `ps`. Empty where it is. */
async function reasonsOf(web: PodSnapshot, more: Partial<EngineSnapshot> = {}): Promise<[screen: string, ps: string]> {
  const node = makeSnapshot([web], more);
  const { columns, rows } = await podTable([web], node, { wide: false, now: noon });
  return [podReason(web, node, noon), rows[0]?.cells[columns.indexOf('REASON')] ?? ''];
}

const web = makeEntry('web');

type Problem = Pick<SourceSnapshot['problems'][number], 'message' | 'lastGoodPods' | 'repeatedPod'>;

function sourceWith(problem: Problem): SourceSnapshot[] {
  const problems = [{ origin: '/manifests/web.yaml', line: 7, severity: 'error' as const, ...problem }];
  return [{ source: 'file', where: '/manifests', ready: true, pods: 1, problems }];
}

test('a Ready pod is well', async () => {
  expect(await reasonsOf(web)).toEqual(['', '']);
});

test('a Ready pod that runs on its last good manifest is not well', async () => {
  const lastGoodPods = [{ namespace: 'default', name: 'web', uid: 'uid-web' }];
  const reason = '/manifests/web.yaml:7: Required value';
  expect(await reasonsOf(web, { sources: sourceWith({ message: 'Required value', lastGoodPods }) })).toEqual([
    reason,
    reason,
  ]);
});

test('a Ready pod that two manifests declare is not well', async () => {
  const message = 'Pod default/web is declared twice';
  const reason = `/manifests/web.yaml:7: ${message}`;
  const repeatedPod = { namespace: 'default', name: 'web' };
  expect(await reasonsOf(web, { sources: sourceWith({ message, repeatedPod }) })).toEqual([reason, reason]);
});

test('an error of the manifest of another pod leaves a pod well', async () => {
  const lastGoodPods = [{ namespace: 'default', name: 'db', uid: 'uid-db' }];
  expect(await reasonsOf(web, { sources: sourceWith({ message: 'Required value', lastGoodPods }) })).toEqual(['', '']);
});

test('a pod whose status is of its last run is not well once it is rejected', async () => {
  const rejection = { reason: 'OutOfcpu', message: 'no CPU is free', retryOn: 'podEnd' as const };
  expect(await reasonsOf({ ...web, rejection })).toEqual(['no CPU is free', 'no CPU is free']);
});
