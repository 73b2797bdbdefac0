import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runningNetworkPlugin } from '../../../src/engine/host/network-plugin.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('the network plugin that runs for a pod is found by the variables of CNI', async () => {
  const program = join(await temporaryFolder(), 'held-plugin');
  await copyFile('/bin/sleep', program);
  const env = { CNI_COMMAND: 'ADD', CNI_ARGS: `IgnoreUnknown=1;K8S_POD_UID=u-${process.pid};K8S_POD_NAME=web` };
  const child = spawn(program, ['1000'], { env });
  onTestFinished(() => {
    child.kill();
  });
  await once(child, 'spawn');
  expect(await runningNetworkPlugin(`u-${process.pid}`)).toBe('held-plugin');
  expect(await runningNetworkPlugin('u-')).toBeUndefined();
});
