import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../src/commands/debug.ts';
import { debugProfiles } from '../../src/commands/pod/debug-profiles.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeEntry } from '../tui/make-snapshot.ts';
import { startFakeAgent } from './fake-agent.ts';
import { noAgentOn } from './no-agent-on.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

async function debug(rootDir: string, ...words: string[]): Promise<string> {
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  await program.parseAsync(['debug', '--root-dir', rootDir, ...words], { from: 'user' });
  return deps.printed.stdout;
}

/** The container that these words ask the agent for. */
async function requested(...words: string[]): Promise<unknown> {
  const rootDir = await temporaryFolder();
  const entry = makeEntry('web-edge1');
  const containers = [
    { name: 'first', image: 'first:1' },
    { name: 'app', image: 'app:1', imagePullPolicy: 'Never' as const },
  ];
  const pods = [{ ...entry, pod: { ...entry.pod, spec: { containers } } }];
  const path = '/v1/pods/default/web-edge1/ephemeralcontainers';
  const asked = await startFakeAgent(rootDir, {
    '/v1/snapshot': { nodeName: 'edge1', pods },
    [path]: { name: 'tools' },
  });
  expect(await debug(rootDir, 'web', '-c', 'tools', ...words)).toBe('tools\n');
  return asked.find(([request]) => request === `POST ${path}`)?.[1];
}

test.each([
  ['that is given', ['--image', 'busybox:1', '--target', 'app'], { image: 'busybox:1', targetContainerName: 'app' }],
  ['of the target', ['--target', 'app'], { image: 'app:1', imagePullPolicy: 'Never', targetContainerName: 'app' }],
  ['of the first container', [], { image: 'first:1' }],
])('the image is that %s', async (_whose, words, fields) => {
  expect(await requested(...words)).toEqual({ container: { name: 'tools', ...fields }, removesAtEnd: false });
});

test('--rm without a session asks for the removal at the end', async () => {
  expect(await requested('--rm')).toEqual({ container: { name: 'tools', image: 'first:1' }, removesAtEnd: true });
});

test('an agent must run', async () => {
  const rootDir = await temporaryFolder();
  await expect(debug(rootDir, 'web')).rejects.toMatchObject(noAgentOn(rootDir));
});

test('profiles set what those of kubectl debug set', () => {
  expect(debugProfiles).toEqual({
    legacy: undefined,
    baseline: undefined,
    general: { capabilities: { add: ['SYS_PTRACE'] } },
    netadmin: { capabilities: { add: ['NET_ADMIN', 'NET_RAW'] } },
    sysadmin: { privileged: true },
    restricted: {
      capabilities: { drop: ['ALL'] },
      allowPrivilegeEscalation: false,
      seccompProfile: { type: 'RuntimeDefault' },
      runAsNonRoot: true,
    },
  });
});

test('flags that could be of the command are refused', async () => {
  await expect(debug('/nowhere', 'web', '--env', 'A=1', 'sleep', '-c', '1')).rejects.toMatchObject({
    name: 'UserError',
    message: '-c follows the command without --, so it could be for either program',
    hint:
      'If it is for the command: kubelet-ts debug --root-dir /nowhere web --env A=1 -- sleep -c 1. ' +
      'Otherwise write it before the command.',
  });
});
