import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { podOfService, serviceNamed } from '../../../src/commands/pod/open-pod.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry } from '../../tui/make-snapshot.ts';

test.each([
  ['svc/web', 'web'],
  ['service/web', 'web'],
  ['services/web', 'web'],
  ['web', undefined],
  ['default/web', undefined],
])('%s names the Service %s', (word, name) => {
  expect(serviceNamed(word)).toBe(name);
});

async function chosen(name: string, isReady: readonly boolean[]): Promise<{ pod: string; stderr: string }> {
  const rootDir = await temporaryFolder();
  const manifest = 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n';
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/web.yaml', Buffer.from(manifest));
  const pods = isReady.map((ready, index) => {
    const { pod } = makeEntry(`web-${index}`, ready ? {} : { containerState: { waiting: {} } });
    return { ...pod, metadata: { ...pod.metadata, labels: { app: 'web' } } };
  });
  const stderr = new PassThrough();
  const node = { rootDir, nodeName: 'edge1', pods: [makeEntry('other').pod, ...pods] };
  const { reference: pod } = await podOfService({ name, namespace: undefined }, node, stderr);
  return { pod, stderr: String(stderr.read() ?? '') };
}

test('a Service means a pod of its selector, a Ready one first', async () => {
  expect(await chosen('web', [true])).toEqual({ pod: 'default/web-0', stderr: '' });
  expect(await chosen('web', [false, true])).toEqual({
    pod: 'default/web-1',
    stderr: 'Found 2 pods, using pod/web-1\n',
  });
});

test('a Service that is not declared, or selects no pod, is an error', async () => {
  await expect(chosen('db', [true])).rejects.toMatchObject({ message: 'services "db" not found' });
  await expect(chosen('web', [])).rejects.toMatchObject({ message: 'Service web selects no pod' });
});
