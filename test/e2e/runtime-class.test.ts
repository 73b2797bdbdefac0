import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.cleanUp());

const podOf = (runtimeClassName: string): object =>
  makePod(runtimeClassName, { runtimeClassName, containers: [shell('main', serve)] });

const classOf = (name: string, handler: string): object => ({
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name },
  handler,
});

test('a pod starts with the handler of its class, as soon as the class is declared', async () => {
  await agent.write('plain.yaml', podOf('plain'));
  await agent.untilPod('plain', ({ pod }) => pod.status?.reason === 'UnknownClass');
  const checked = await agent.cli(['validate', `${agent.manifestsFolder}/plain.yaml`]);
  expect({ code: checked.code, stdout: checked.stdout }).toEqual({
    code: 2,
    stdout: expect.stringMatching(
      /plain\.yaml:\d+:\d+: error: spec\.runtimeClassName: no manifest declares RuntimeClass "plain"\n[^]*hint: Declare it with the pod/,
    ) as string,
  });
  await agent.write('class.yaml', classOf('plain', 'runc'));
  await agent.untilReady('plain');
});

test('a handler that the runtime does not have is named', async () => {
  await agent.write('absent-class.yaml', classOf('odd', 'absent'));
  await agent.write('odd.yaml', podOf('odd'));
  await agent.untilPod('odd', ({ events }) =>
    events.some(
      (event) =>
        event.type === 'Recorded' &&
        event.reason === 'FailedCreatePodSandBox' &&
        event.message.includes('no runtime for "absent"'),
    ),
  );
});
