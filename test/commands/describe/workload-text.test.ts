import { describe, expect, test } from 'vitest';
import { describeWorkloads } from '../../../src/commands/describe/describe-objects.ts';
import type { WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';

const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: 'app:1', ports: [{containerPort: 80}]}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: dump}
spec:
  schedule: '30 2 * * *'
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: dump, image: 'dump:1'}]}}}
`;

const counts = { desired: 3, current: 2, ready: 2, available: 1, updated: 2 };
const web: WorkloadSnapshot = {
  kind: 'Deployment',
  namespace: 'default',
  name: 'web',
  ...counts,
  conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'OutOfcpu', message: 'web-2: not enough cpu' }],
  pods: ['web-edge1'],
};
const job = { active: 1, ready: 1, succeeded: 0, failed: 2, terminating: 0, isSuspended: false };
const dump: WorkloadSnapshot = {
  kind: 'CronJob',
  namespace: 'default',
  name: 'dump',
  ...counts,
  conditions: [],
  pods: ['dump-29932410-edge1'],
  cronJob: {
    schedule: '30 2 * * *',
    timeZone: 'Europe/Berlin',
    isSuspended: false,
    lastScheduleTime: noon - 3_600_000,
    nextScheduleTime: noon + 7_200_000,
    jobs: [{ name: 'dump-29932410', ...job, completions: 1, startTime: noon - 60_000 }],
  },
};

async function described(kind: WorkloadSnapshot['kind'], name: string): Promise<string[]> {
  const rootDir = await temporaryFolder();
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/all.yaml', Buffer.from(manifest));
  const pods = [makeEntry('web-edge1'), makeEntry('dump-29932410-edge1')];
  const snapshot = makeSnapshot(pods, { workloads: [web, dump] });
  const texts = await describeWorkloads({ workloads: [kind], names: [name] }, snapshot, { rootDir }, noon);
  return texts.flatMap((text) => text.split('\n'));
}

describe('describe shows as kubectl does', () => {
  test('a Deployment', async () => {
    expect(await described('Deployment', 'web')).toEqual([
      'Name:                   web',
      'Namespace:              default',
      'Declared By:            /m/all.yaml',
      'Replicas:               3 desired | 2 updated | 2 total | 1 available | 2 unavailable',
      'StrategyType:           RollingUpdate',
      'MinReadySeconds:        0',
      'RollingUpdateStrategy:  25% max unavailable, 25% max surge',
      'Pod Template:',
      '  Labels:  app=web',
      '  Containers:',
      '    main:',
      '      Image:  app:1',
      '      Ports:  80/TCP',
      'Conditions:',
      '  Type             Status   Reason     Message',
      '  ----             ------   ------     -------',
      '  ReplicaFailure   True     OutOfcpu   web-2: not enough cpu',
      'Pods:',
      '  web-edge1   Ready   Running',
      'Events:   <none>',
      '',
    ]);
  });

  test('a CronJob', async () => {
    expect(await described('CronJob', 'dump')).toEqual([
      'Name:                          dump',
      'Namespace:                     default',
      'Declared By:                   /m/all.yaml',
      'Schedule:                      30 2 * * *',
      'Time Zone:                     Europe/Berlin',
      'Concurrency Policy:            Forbid',
      'Suspend:                       False',
      'Successful Job History Limit:  3',
      'Failed Job History Limit:      1',
      'Starting Deadline Seconds:     <unset>',
      'Last Schedule Time:            Sat, 01 Mar 2025 11:00:00 +0000',
      'Next Schedule Time:            Sat, 01 Mar 2025 14:00:00 +0000 (in 120m)',
      'Active Jobs:                   dump-29932410',
      'Pod Template:',
      '  Labels:  <none>',
      '  Containers:',
      '    dump:',
      '      Image:  dump:1',
      'Pods:',
      '  dump-29932410-edge1   Ready   Running',
      'Events:   <none>',
      '',
    ]);
  });

  test('a Job of a CronJob', async () => {
    expect(await described('Job', 'dump-29932410')).toEqual([
      'Name:             dump-29932410',
      'Namespace:        default',
      'Controlled By:    CronJob/dump',
      'Declared By:      /m/all.yaml',
      'Parallelism:      1',
      'Completions:      1',
      'Completion Mode:  NonIndexed',
      'Suspend:          false',
      'Backoff Limit:    6',
      'Start Time:       Sat, 01 Mar 2025 11:59:00 +0000',
      'Duration:         60s',
      'Pods Statuses:    1 Active (1 Ready) / 0 Succeeded / 2 Failed',
      'Pod Template:',
      '  Labels:  <none>',
      '  Containers:',
      '    dump:',
      '      Image:  dump:1',
      'Pods:',
      '  dump-29932410-edge1   Ready   Running',
      'Events:   <none>',
      '',
    ]);
  });
});
