import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { attachWithLog } from '../../../src/commands/pod/attach-with-log.ts';
import { selectPod } from '../../../src/commands/pod/select-pod.ts';
import { ContainerStatus, type ContainerState } from '../../../src/cri/generated/cri.ts';
import { startStreamingServer, type Session, type StreamingServer } from '../../cri/streaming/streaming-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeContainer, makeDeps, makeRuntime, makeSandbox } from '../runtime-listings.ts';

let server: StreamingServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const line = (stream: string, text: string, tag = 'F'): string =>
  `2024-05-06T07:08:09.000000000Z ${stream} ${tag} ${text}\n`;

interface Story {
  /** The log when the session begins. */
  before?: string;
  /** The log once the session has ended. */
  after?: string;
  /** The state of the container then. */
  state?: ContainerState;
  session: (session: Session) => void;
}

/** Attaches to a container that lives as in the story. Resolves with the output. */
async function attach({ before = '', after, state = 'CONTAINER_EXITED', session }: Story) {
  const log = join(await temporaryFolder(), '0.log');
  await writeFile(log, before);
  server = await startStreamingServer({ spdy: true }, session);
  const container = makeContainer({ id: 'app-0', name: 'app' });
  const url = `http://127.0.0.1:${String(server.port)}/attach/token`;
  let hasBegun = false;
  const runtime = {
    ...makeRuntime([makeSandbox({ name: 'web' })], [container]),
    attach: async () => {
      hasBegun = true;
      await writeFile(log, after ?? before);
      container.state = state;
      return { url };
    },
    containerStatus: () =>
      Promise.resolve({
        status: ContainerStatus.fromPartial({
          id: 'app-0',
          logPath: log,
          state: hasBegun ? state : 'CONTAINER_RUNNING',
        }),
        info: {},
      }),
  };
  const deps = makeDeps(runtime);
  const pod = await selectPod(runtime, { pod: 'web', nodeName: 'edge1' });
  const exitCode = await attachWithLog(
    deps,
    {
      runtime,
      pod,
      declaredPod: () => Promise.resolve(undefined),
      notStartedBecause: () => undefined,
      awaitedInit: () => undefined,
    },
    { container: { id: 'app-0', name: 'app' }, stdin: true, tty: false, detachKeys: Buffer.alloc(0), keysText: '' },
  );
  return { ...deps.printed, exitCode };
}

const end = (session: Session): void => {
  session.exit(0);
};
const refuse = (session: Session): void => {
  session.send('error', JSON.stringify({ status: 'Failure', message: 'container is in CONTAINER_EXITED state' }));
};

test('output from before the session comes first', async () => {
  const printed = await attach({
    before: line('stdout', 'out 1') + line('stderr', 'err 1'),
    after: line('stdout', 'out 1') + line('stderr', 'err 1') + line('stdout', 'out 2'),
    session: (session) => {
      session.send('stdout', 'out 2\n');
      session.exit(0);
    },
  });
  expect(printed).toEqual({ stdout: 'out 1\nout 2\n', stderr: 'err 1\n', exitCode: 0 });
});

test.each([
  ['the session ends without output', end],
  ['the runtime refuses the session', refuse],
])('a container that ended before it could be attached to loses no output: %s', async (_case, session) => {
  const before = line('stdout', 'one') + line('stdout', 'tw', 'P');
  const printed = await attach({
    before,
    after: `${before}${line('stdout', 'o')}${line('stderr', 'err')}${line('stdout', 'end', 'P')}`,
    session,
  });
  expect(printed).toEqual({ stdout: 'one\ntwo\nend', stderr: 'err\n', exitCode: 0 });
});

test('the reason of the runtime is the error while the container runs', async () => {
  await expect(attach({ state: 'CONTAINER_RUNNING', session: refuse })).rejects.toThrow(
    'cannot attach to the container',
  );
});
