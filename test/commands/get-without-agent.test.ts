import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../src/commands/ps.ts';
import { UserError } from '../../src/errors.ts';
import { LastGoodManifests } from '../../src/engine/config/last-good/last-good-manifests.ts';
import { WorkloadRecords } from '../../src/engine/workloads/records/workload-records.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

const pod = 'spec: {restartPolicy: Never, containers: [{name: main, image: "app:1"}]}';
const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: "app:1"}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: pi}
spec: {completions: 2, template: {${pod}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: dump}
spec: {schedule: '@daily', jobTemplate: {spec: {template: {${pod}}}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {a: b}}
`;

async function get(rootDir: string, ...words: string[]): Promise<{ stdout: string[]; stderr: string[] }> {
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride();
  register(program, deps);
  await program.parseAsync(['get', '--root-dir', rootDir, ...words], { from: 'user' });
  const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');
  return { stdout: linesOf(deps.printed.stdout), stderr: linesOf(deps.printed.stderr) };
}

/** A root-dir after a run with these manifests. */
async function rootDirAfterRun(): Promise<string> {
  const rootDir = await temporaryFolder();
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/all.yaml', Buffer.from(manifest));
  return rootDir;
}

const warning = (rootDir: string): string =>
  `warning: no kubelet-ts runs on ${rootDir}: the state of workloads is as it was recorded last`;

test('without an agent, get lists the workloads that manifests declare and operators scaled', async () => {
  const rootDir = await rootDirAfterRun();
  const web = { kind: 'Deployment', namespace: 'default', name: 'web' } as const;
  const scale = { replicas: 5, whileDeclared: 3 };
  await new WorkloadRecords({ rootDir, logger: silentLogger }).ask(web, (record) => ({ ...record, scale }));
  const { stdout, stderr } = await get(rootDir, 'deploy', '--no-headers');
  expect(stdout.map((line) => line.split(/ +/))).toEqual([
    // Its age is that of its manifest.
    ['default', 'deployment.apps/web', '<unknown>/5', '<unknown>', '<unknown>', expect.stringMatching(/^\d/)],
  ]);
  expect(stderr).toEqual([warning(rootDir)]);
});

test('without an agent, get lists Jobs and CronJobs as they were recorded', async () => {
  const rootDir = await rootDirAfterRun();
  expect((await get(rootDir, 'job,cronjob')).stdout).toEqual([
    'NAMESPACE   NAME                 SCHEDULE   TIMEZONE   SUSPEND   ACTIVE   LAST SCHEDULE   NEXT',
    'default     cronjob.batch/dump   @daily     <none>     False     0        <none>          <none>',
    'NAMESPACE   NAME           STATUS      COMPLETIONS   DURATION   AGE',
    'default     job.batch/pi   <unknown>   0/2                      <unknown>',
  ]);
});

test('without an agent, get lists applied objects that no agent has run yet', async () => {
  const rootDir = await temporaryFolder();
  await mkdir(join(rootDir, 'applied'));
  const object = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'db' },
    spec: { clusterIP: 'None', selector: { app: 'db' } },
  };
  await writeFile(join(rootDir, 'applied/service.default.db.json'), JSON.stringify(object));
  expect((await get(rootDir, 'svc', '-o', 'name')).stdout).toEqual(['service/db']);
});

test('without an agent, an empty list does not say that nothing is declared', async () => {
  const rootDir = await rootDirAfterRun();
  expect(await get(rootDir, 'sts')).toEqual({
    stdout: [],
    stderr: [warning(rootDir), `No StatefulSet was declared when kubelet-ts last ran on ${rootDir}.`],
  });
  const empty = await temporaryFolder();
  const unknown = (kind: string): UserError =>
    new UserError(`${empty} has no manifests of an earlier run, so it is unknown whether a ${kind} is declared`, {
      hint: 'Start kubelet-ts: kubelet-ts run MANIFEST',
    });
  await expect(get(empty, 'sts')).rejects.toEqual(unknown('StatefulSet'));
  await expect(get(empty, 'svc')).rejects.toEqual(unknown('Service'));
});
