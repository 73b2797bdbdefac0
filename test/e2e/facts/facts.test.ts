import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest';
import type { Container } from '../../../src/api/types.ts';
import type { Agent } from '../agent.ts';
import { inTurn, oldestAndNewest } from '../containerd-releases.ts';
import { makePod, serve, shell } from '../manifests.ts';
import { environment } from './environment.ts';
import { type FactNode, startFactNode } from './fact-node.ts';
import { answersSeen, answersWanted } from './fact-pods.ts';
import { namespaces } from './namespaces.ts';
import { privileges } from './privileges.ts';
import { refusedPods } from './refused-pods.ts';
import { resources } from './resources.ts';
import { users } from './users.ts';
import { volumes } from './volumes.ts';

describe.concurrent.each(oldestAndNewest())('what a container sees on containerd $release', (containerd) => {
  let node: FactNode;

  beforeAll(async () => {
    node = await startFactNode(containerd);
  });
  afterAll(() => node.cleanUp());

  test.for([users, privileges, environment, namespaces, volumes, resources])(
    '$title',
    inTurn,
    async (group, context) => {
      const { agent, machine } = node;
      const pods = group.pods(machine);
      await writePods(context, agent, pods);
      expect(await answersSeen(agent, pods)).toEqual(answersWanted(pods));
    },
  );

  test('what must not start says why', inTurn, async (context) => {
    const { agent, machine } = node;
    const refused = Object.entries(refusedPods(machine));
    await writePods(
      context,
      agent,
      refused.map(([name, { pod }]) => ({ name, pod })),
    );
    for (const [name, { reason, message }] of refused) {
      await agent.untilPod(name, ({ pod }) => {
        const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting;
        return waiting?.reason === reason && waiting.message?.includes(message) === true;
      });
    }
  });

  test('a pod gets ids of its own, or hears that the runtime has none to give', inTurn, async (context) => {
    const { agent, machine } = node;
    const pod = makePod('own-ids', { hostUsers: false, hostNetwork: false, containers: [shell('app', serve)] });
    await writePods(context, agent, [{ name: 'own-ids', pod }]);
    if (machine.userNamespaces) {
      await agent.untilReady('own-ids');
      const { stdout } = await agent.cli(['exec', 'own-ids', '--', 'cat', '/proc/self/uid_map']);
      expect(stdout.trim().split(/ +/)).toEqual(['0', '65536', '65536']);
    } else {
      const message = 'spec.hostUsers: the container runtime does not support user namespaces';
      await agent.untilPod('own-ids', ({ worker }) => worker.lastSyncError?.includes(message) === true);
    }
  });

  test(
    'the last words of a container are what it wrote to its file, or what its policy lets them be',
    inTurn,
    async (context) => {
      const { agent } = node;
      const words = (name: string, script: string, more: Partial<Container>): Container =>
        shell(name, script, { terminationMessagePath: '/tmp/words', ...more });
      const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' };
      const pod = makePod('last-words', {
        restartPolicy: 'Never',
        containers: [
          words('file', 'echo -n from the file > /tmp/words; echo from the log; exit 3', {}),
          words('no-file', 'echo from the log; exit 3', {}),
          words('log', 'echo one; echo two; exit 3', fallback),
          words('file-first', 'echo -n from the file > /tmp/words; echo from the log; exit 3', fallback),
          words('no-error', 'echo from the log', fallback),
          words('long', 'head -c 5000 /dev/zero | tr "\\0" a > /tmp/words', {}),
        ],
      });
      await writePods(context, agent, [{ name: 'last-words', pod }]);
      const { pod: ended } = await agent.untilPod('last-words', ({ worker }) => worker.state === 'finished');
      const said = (ended.status?.containerStatuses ?? []).map(({ name, state: { terminated } = {} }) => [
        name,
        { code: terminated?.exitCode, words: terminated?.message },
      ]);
      expect(Object.fromEntries(said)).toEqual({
        file: { code: 3, words: 'from the file' },
        'no-file': { code: 3, words: undefined },
        log: { code: 3, words: 'one\ntwo\n' },
        'file-first': { code: 3, words: 'from the file' },
        'no-error': { code: 0, words: undefined },
        // The six of them have 12 KiB together.
        long: { code: 0, words: 'a'.repeat(2048) },
      });
    },
  );
});

/** Writes manifests that go at the end of the test. */
async function writePods(
  { onTestFinished }: TestContext,
  agent: Agent,
  pods: readonly { name: string; pod: object }[],
): Promise<void> {
  onTestFinished(async () => {
    for (const { name } of pods) await agent.remove(`${name}.yaml`);
    await agent.untilNoPods();
  });
  for (const { name, pod } of pods) await agent.write(`${name}.yaml`, pod);
}
