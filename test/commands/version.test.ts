import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../src/commands/version.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import { UserError } from '../../src/errors.ts';
import { referenceVersion } from '../../src/node/options/flags.ts';
import { programVersion } from '../../src/process/program-version.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeSnapshot } from '../tui/make-snapshot.ts';
import { startFakeAgent } from './fake-agent.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

const runtime: RuntimeService = {
  ...makeRuntime([], []),
  version: () =>
    Promise.resolve({ version: '0.1.0', runtimeName: 'containerd', runtimeVersion: '1.7.24', runtimeApiVersion: 'v1' }),
};
const noRuntime = { connect: () => Promise.reject(new UserError('no container runtime answers at unix:///c.sock')) };

async function version(
  rootDir: string,
  words: readonly string[],
  deps = makeDeps(runtime),
): Promise<{ stdout: string; stderr: string }> {
  const program = new Command();
  register(program, deps);
  await program.parseAsync(['version', '--root-dir', rootDir, ...words], { from: 'user' });
  const { stdout, stderr } = deps.printed;
  return { stdout, stderr };
}

const clientLine = `Client:  kubelet-ts ${programVersion}, Kubernetes ${referenceVersion}, Node.js ${process.version}\n`;
const client = { version: programVersion, kubernetesVersion: referenceVersion, nodeVersion: process.version };
const restart = 'hint: Restart the agent to run the version of this program: systemctl restart kubelet-ts\n';

test.each([
  [programVersion, programVersion, ''],
  ['0.0.1', '0.0.1', restart],
  // An earlier release.
  [undefined, 'unknown', restart],
])('version shows the agent of version %s and its runtime', async (own, shown, stderr) => {
  const rootDir = await temporaryFolder();
  await startFakeAgent(rootDir, { '/v1/agent': { pid: 7, version: own }, '/v1/snapshot': makeSnapshot() });
  expect(await version(rootDir, [])).toEqual({
    stdout:
      `${clientLine}Agent:   kubelet-ts ${shown} (pid 7) on node edge1\n` +
      'Runtime: containerd 1.7.24, unix:///run/cri.sock\n',
    stderr,
  });
  const { stdout } = await version(rootDir, ['-o', 'json']);
  expect(JSON.parse(stdout)).toEqual({
    client,
    agent: { version: shown, pid: 7, nodeName: 'edge1' },
    runtime: { name: 'containerd', version: '1.7.24', endpoint: 'unix:///run/cri.sock' },
  });
});

test('without an agent the runtime is asked', async () => {
  const rootDir = await temporaryFolder();
  expect(await version(rootDir, [])).toEqual({
    stdout: `${clientLine}Agent:   none runs on ${rootDir}\nRuntime: containerd 1.7.24\n`,
    stderr: '',
  });
});

test('without a runtime the version of the client is shown, with a warning', async () => {
  const rootDir = await temporaryFolder();
  expect(await version(rootDir, [], makeDeps(runtime, noRuntime))).toEqual({
    stdout: `${clientLine}Agent:   none runs on ${rootDir}\nRuntime: none answers\n`,
    stderr: 'warning: no container runtime answers at unix:///c.sock\n',
  });
  const yaml = await version(rootDir, ['-o', 'yaml'], makeDeps(runtime, noRuntime));
  expect(yaml.stdout).toBe(
    `client:\n  version: ${programVersion}\n  kubernetesVersion: ${referenceVersion}\n  nodeVersion: ${process.version}\n`,
  );
});

test('--client asks nothing', async () => {
  const rootDir = await temporaryFolder();
  const asked = await startFakeAgent(rootDir, {});
  expect([await version(rootDir, ['--client']), asked]).toEqual([{ stdout: clientLine, stderr: '' }, []]);
});
