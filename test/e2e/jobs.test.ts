import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Agent } from './agent.ts';
import { busybox, hostFolder, shell } from './manifests.ts';
import { untilLines } from './until-lines.ts';

const podSpec = (script: string): object => ({
  restartPolicy: 'Never',
  containers: [shell('app', script, { image: busybox })],
});
/** Each run writes a line into a file of the machine when it begins and when it ends. */
const notingSpec = (folder: string, name: string): object => ({
  restartPolicy: 'Never',
  containers: [
    shell('app', `echo "$(hostname) begins" >> /notes/${name}; sleep 2; echo "$(hostname) ends" >> /notes/${name}`, {
      image: busybox,
      volumeMounts: [{ name: 'notes', mountPath: '/notes' }],
    }),
  ],
  volumes: [hostFolder('notes', folder)],
});

/** A Job whose pods each write a line when they begin, into a folder of the machine. */
const job = (name: string, script: string, spec: object): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: { ...spec, template: { spec: podSpec(script) } },
});

let agent: Agent;
/** Where the runs of some Jobs write lines. */
let notes: string;

beforeAll(async () => {
  notes = await mkdtemp(join(tmpdir(), 'kubelet-ts-'));
  agent = await Agent.create({
    manifests: {
      'many.json': job('many', 'echo run; sleep 2', { completions: 3, parallelism: 2 }),
      'indexed.json': job('indexed', 'echo "index $JOB_COMPLETION_INDEX on $(hostname)"', {
        completions: 2,
        parallelism: 2,
        completionMode: 'Indexed',
      }),
      'cron.json': {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: { name: 'each' },
        spec: { schedule: '* * * * *', jobTemplate: { spec: { template: { spec: notingSpec(notes, 'cron') } } } },
      },
      'yearly.json': {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: { name: 'yearly' },
        spec: {
          schedule: '@yearly',
          jobTemplate: { spec: { backoffLimit: 0, template: { spec: podSpec('echo now; exit 7') } } },
        },
      },
    },
  });
  await agent.start();
});
afterAll(async () => {
  await agent.cleanUp();
  await rm(notes, { recursive: true });
});

const succeeded = async (prefix: string, count: number): Promise<string[]> => {
  const { pods } = await agent.until(
    (snapshot) =>
      snapshot.pods.filter(({ pod }) => pod.metadata.name.startsWith(prefix) && pod.status?.phase === 'Succeeded')
        .length >= count,
  );
  return pods.map(({ pod }) => pod.metadata.name).filter((name) => name.startsWith(prefix));
};
/**
 * Waits until the runtime has finished the start of these pods. It ends a container whose start is still under way when
 * the agent is killed.
 */
const running = async (...names: string[]): Promise<void> => {
  await agent.until(({ pods }) =>
    names.every((name) => pods.some(({ pod }) => pod.metadata.name === name && pod.status?.phase === 'Running')),
  );
};
const logsOf = async (pod: string): Promise<string> => (await agent.cli(['logs', pod])).stdout;

test('a Job of three completions runs each pod once, although the agent is killed meanwhile', async () => {
  await agent.until(({ pods }) => pods.some(({ pod }) => pod.metadata.name === 'many-edge1'));
  await agent.kill9();
  await agent.start();
  const names = await succeeded('many-', 3);
  expect(names).toEqual(['many-1-edge1', 'many-2-edge1', 'many-edge1']);
  expect(await Promise.all(names.map(logsOf))).toEqual(['run\n', 'run\n', 'run\n']);
});

test('pods of an indexed Job know their index', async () => {
  const names = await succeeded('indexed-', 2);
  expect(await Promise.all(names.map(logsOf))).toEqual(['index 1 on indexed-1\n', 'index 0 on indexed-0\n']);
});

const linesOf = async (name: string): Promise<string[]> =>
  (await readFile(join(notes, name), 'utf8')).trimEnd().split('\n').toSorted();

test('an Indexed Job of three pods at a time runs each index once, although the agent is killed in between', async () => {
  const killed = {
    completions: 5,
    parallelism: 3,
    completionMode: 'Indexed',
    template: { spec: notingSpec(notes, 'indexes') },
  };
  await agent.write('killed.json', { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'killed' }, spec: killed });
  await running('killed-edge1', 'killed-1-edge1', 'killed-2-edge1');
  await agent.kill9();
  await agent.start();
  await running('killed-3-edge1', 'killed-4-edge1');
  await agent.kill9();
  await agent.start();
  await agent.kill9();
  await agent.start();
  await succeeded('killed-', 5);
  const each = [0, 1, 2, 3, 4].flatMap((index) => [`killed-${index} begins`, `killed-${index} ends`]);
  expect(await linesOf('indexes')).toEqual(each);
});

test('a CronJob runs each minute once, although the agent is killed during its run', async () => {
  // The runs during the other tests are over, each with two lines.
  const seen = (await linesOf('cron').catch(() => [])).length;
  const lines = await untilLines(join(notes, 'cron'), seen + (seen % 2) + 1);
  const [pod = ''] = lines.at(-1)?.split(' ') ?? [];
  await running(pod);
  await agent.kill9();
  await agent.start();
  expect(pod).toMatch(/^each-\d{8}-edge1$/);
  await succeeded(pod, 1);
  const ofRun = (await linesOf('cron')).filter((line) => line.startsWith(pod));
  expect(ofRun).toEqual([`${pod} begins`, `${pod} ends`]);
});

test('run-once runs a declared CronJob now, shows its output, and exits as its Job did', async () => {
  const { stdout, stderr, code } = await agent.cli(['run-once', 'cronjob/yearly']);
  const [, job = ''] = /^job\.batch\/(yearly-run-\w{6}) created$/m.exec(stderr) ?? [];
  expect({ stdout, stderr, code }).toEqual({
    stdout: 'now\n',
    stderr: [
      `job.batch/${job} created`,
      `job.batch/${job} failed`,
      `default/${job}-edge1: failed: container app exited with code 7`,
      '',
    ].join('\n'),
    code: 7,
  });
  expect(await logsOf(`job/${job}`)).toBe('now\n');
});
