import type { WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { ownArgs } from '../../../src/commands/habits/command-first.ts';
import { registerAll } from '../../../src/commands/program.ts';
import type { ImageService } from '../../../src/cri/image-service.ts';
import type { Image } from '../../../src/cri/types.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { errorMessage } from '../../../src/errors.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { makeContainer, makeDeps, makeRuntime, makeSandbox } from '../runtime-listings.ts';

const manifest = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: "app:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: web}, ports: [{port: 80}]}
`;
const podTable = [
  'NAMESPACE   NAME        READY   STATUS    RESTARTS   AGE',
  'default     web-edge1   1/1     Running   0          AGE',
];
const serviceTable = [
  'NAMESPACE   NAME            TYPE        CLUSTER-IP   PORT(S)   DECLARED BY',
  'default     service/front   ClusterIP   <none>       80/TCP    /m/web.yaml',
];
const workloadTable = [
  'NAMESPACE   NAME                  READY   UP-TO-DATE   AVAILABLE   AGE',
  'default     deployment.apps/web   1/1     1            1           AGE',
];

/** Command lines of kubectl, podman and docker that mean the same here, and the first lines of the answers. */
const accepted: Readonly<Record<string, readonly string[]>> = {
  '-n default get pods': podTable,
  'get po,svc': [...podTable, ...serviceTable],
  'get all': [...podTable, ...workloadTable, ...serviceTable],
  'get deploy web': workloadTable,
  'ps -a': podTable,
  'ps -q': ['default/web-edge1'],
  'validate -f FILE': ['1 pod, 1 Service: 0 errors, 0 warnings'],
  'diff -f FILE': ['~ restart  default/web-edge1 (replaces the pod: its manifest changed)'],
  'run-once -f FOLDER/nope.yaml': ['broken manifest, nothing was started'],
  'apply FOLDER/nope.yaml': ['FOLDER/nope.yaml: error: no such file or folder'],
  'apply -k FOLDER/nope': ['FOLDER/nope: error: no such folder'],
  'logs svc/front': ['hello'],
  'logs pod web': ['hello'],
  'logs -t web': ['2026-11-29T08:00:00.000000000Z hello'],
  'port-forward svc/nope 8080': ['services "nope" not found'],
  'explain po web': ['default/web-edge1: running'],
  'explain pods': ['explain says why a pod is not Ready; it does not describe fields'],
  'explain pod.spec': ['explain says why a pod is not Ready; it does not describe fields'],
  'describe svc front': [
    ...['Name:                     front', 'Namespace:                default'],
    ...['Declared By:              /m/web.yaml', 'Selector:                 app=web'],
  ],
  'describe deploy web': ['Name:       web', 'Namespace:  default'],
  'describe -A': ['Name:         web-edge1', 'Namespace:    default'],
  'events -A': ['No events.'],
  'delete pod web --force --grace-period=0': [
    'warning: each pod keeps its terminationGracePeriodSeconds, so that it can write its data; ' +
      '--force only skips the wait',
  ],
  'delete deploy/front --now': [
    'warning: each pod keeps its terminationGracePeriodSeconds, so that it can write its data',
  ],
  'delete pod --all': ['No resources found'],
  images: ['IMAGE             IMAGE ID        SIZE', 'localhost/app:1   0123456789abc   1B'],
  'images -q': ['0123456789abc'],
};

test('command lines of other programs that mean the same here are accepted', async () => {
  const run = await makeNode();
  const answers: Record<string, string[]> = {};
  for (const [line, { length }] of Object.entries(accepted)) {
    const lines = (await run(line)).split('\n').slice(0, length);
    answers[line] = lines.map((text) => text.replace(/(\d+d|<unknown>)$/, 'AGE'));
  }
  expect(answers).toEqual(accepted);
});

const deployment: WorkloadSnapshot = {
  ...{ kind: 'Deployment', namespace: 'default', name: 'web', pods: ['web-edge1'], conditions: [] },
  ...{ desired: 1, current: 1, ready: 1, available: 1, updated: 1 },
};

/** A node with the running pod web and the Service front. Returns a function that runs a command line on it. */
async function makeNode(): Promise<(line: string) => Promise<string>> {
  const rootDir = await temporaryFolder();
  const log = join(rootDir, '0.log');
  await writeFile(join(rootDir, 'web.yaml'), manifest);
  await writeFile(log, '2026-11-29T08:00:00.000000000Z stdout F hello\n');
  const web = makeEntry('web-edge1');
  web.pod.metadata.labels = { app: 'web' };
  await startFakeAgent(rootDir, {
    '/v1/snapshot': { ...makeSnapshot([web]), workloads: [deployment] },
    '/v1/agent': { pid: 1 },
    '/v1/history': [],
  });
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/web.yaml', Buffer.from(manifest));
  const labels = { 'io.kubernetes.pod.name': 'web-edge1', 'io.kubernetes.container.name': 'main' };
  const runtime = makeRuntime(
    [makeSandbox({ name: 'web-edge1', id: 'sandbox', labels: { app: 'web' } })],
    [makeContainer({ id: 'c0', name: 'main', labels })],
    { logPaths: { c0: log } },
  );
  const images: Partial<ImageService> = {
    listImages: () =>
      Promise.resolve({
        images: [
          {
            id: 'sha256:0123456789abcdef',
            repoTags: ['localhost/app:1'],
            repoDigests: [],
            size: 1n,
          } as unknown as Image,
        ],
      }),
  };
  return async (line) => {
    const deps = makeDeps(runtime, {
      connect: () =>
        Promise.resolve({
          runtime,
          images: images as ImageService,
          listAllContainers: runtime.listContainers,
          close: () => undefined,
        }),
    });
    const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
    await registerAll(program, deps);
    const words = ownArgs(line.replace('FILE', join(rootDir, 'web.yaml')).replace('FOLDER', rootDir).split(' '));
    const failure = await program.parseAsync([...words, '--root-dir', rootDir], { from: 'user' }).then(
      () => '',
      (error: unknown) => `${errorMessage(error)}\n`,
    );
    return `${deps.printed.stderr}${failure}${deps.printed.stdout}`.replaceAll(rootDir, 'FOLDER');
  };
}
