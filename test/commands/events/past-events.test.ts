import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { pastEvents } from '../../../src/commands/events/past-events.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { objectHistory } from '../../../src/engine/history/history-file.ts';
import type { ObjectRef } from '../../../src/engine/view/events.ts';
import { nodeNameOf } from '../../../src/node/options/node-options.ts';
import { rootDirWith } from '../../builders/recorded-events.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

const owner = (kind: ObjectRef['kind'], name: string, namespace = 'default') =>
  objectHistory({ kind, namespace, name });
const node = nodeNameOf(hostname());
const pod = (name: string) => ({ namespace: 'default', name: `${name}-${node}` });
const template = 'template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}';
const manifest = `
apiVersion: batch/v1
kind: Job
metadata: {name: pi}
spec: {${template}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: dump}
spec: {schedule: '@daily', jobTemplate: {spec: {${template}}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`;

/** A root-dir without an agent, whose manifest declares a Job, a CronJob and a Service. */
async function rootDir(): Promise<string> {
  const folder = await rootDirWith([
    { of: owner('Job', 'pi'), reason: 'Completed', at: 3 },
    { of: pod('pi'), reason: 'Started', at: 2 },
    { of: pod('pi-tool'), reason: 'Started', at: 1 },
    { of: owner('CronJob', 'dump'), reason: 'SuccessfulCreate', at: 5 },
    { of: owner('CronJob', 'dump'), reason: 'Completed', at: 7, job: 'dump-29' },
    { of: pod('dump-29'), reason: 'Started', at: 6 },
    { of: owner('Service', 'web'), reason: 'ServiceProblem', at: 8 },
    { of: owner('Service', 'web', 'other'), reason: 'ServiceProblem', at: 9 },
    { of: owner('Deployment', 'gone'), reason: 'RecordNotWritten', at: 4 },
  ]);
  const lastGood = new LastGoodManifests({ rootDir: folder, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/all.yaml', Buffer.from(manifest));
  return folder;
}

async function listed(reference: string | undefined, namespace?: string): Promise<string[]> {
  const flags = { rootDir: await rootDir(), ...(namespace !== undefined && { namespace }) };
  const { events, isOfObject } = await pastEvents(makeDeps(makeRuntime([], [])), reference, flags);
  expect(events.filter((event) => !isOfObject(event))).toEqual([]);
  return events.map(({ lastAt, reason, name }) => `${lastAt} ${reason} ${name.replace(node, 'edge1')}`);
}

test.each([
  ['job/pi', ['2 Started pi-edge1', '3 Completed job/pi']],
  ['cj/dump', ['5 SuccessfulCreate cronjob/dump', '6 Started dump-29-edge1', '7 Completed job/dump-29']],
  ['job/dump-29', ['6 Started dump-29-edge1', '7 Completed job/dump-29']],
  ['deploy/gone', ['4 RecordNotWritten deployment/gone']],
  ['svc/web', ['8 ServiceProblem service/web', '9 ServiceProblem service/web']],
  ['pi-tool', ['1 Started pi-tool-edge1']],
])('events %s lists the kept events of the object and of its pods', async (reference, events) => {
  expect(await listed(reference)).toEqual(events);
});

test('events without a name list those of all pods and objects', async () => {
  expect((await listed(undefined)).length).toBe(9);
  expect(await listed(undefined, 'other')).toEqual(['9 ServiceProblem service/web']);
  expect(await listed('svc/web', 'other')).toEqual(['9 ServiceProblem service/web']);
});

test('events of a Service or a workload that is not declared say so', async () => {
  await expect(listed('svc/wep')).rejects.toMatchObject({
    message: 'services "wep" not found',
    hint: 'Did you mean service/web?',
  });
  await expect(listed('job/nope')).rejects.toMatchObject({ message: 'jobs.batch "nope" not found' });
});
