import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { createNodeLogger } from '../../../src/node/log/node-logger.ts';
import { addNodeOptions } from '../../../src/node/options/node-flags.ts';
import { type NodeFlags, nodeOptions } from '../../../src/node/options/node-options.ts';
import { referenceVersion } from '../../../src/node/options/flags.ts';
import { programVersion } from '../../../src/process/program-version.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('the log starts with the version, and names fields and feature gates that are set and have no effect here', async () => {
  const folder = await temporaryFolder();
  const [config, logFile] = [join(folder, 'kubelet.yaml'), join(folder, 'log')];
  const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
  await writeFile(config, `${head}rotateCertificates: true\nfeatureGates: {RotateKubeletServerCertificate: false}\n`);
  const command = addNodeOptions(new Command('run')).parse(['--config', config], { from: 'user' });
  await createNodeLogger(await nodeOptions(command.opts<NodeFlags>(), []), {}, 'info', logFile);
  const [first = '', line = ''] = (await readFile(logFile, 'utf8')).split('\n');
  expect(first.split(' INFO: ')[1]).toBe(
    `Starting kubelet-ts {"version":"${programVersion}","kubernetesVersion":"${referenceVersion}"}`,
  );
  expect(line).toMatch(/ INFO: Some configuration fields are set but have no effect here \{"fields":\{/);
  expect(line).toContain('"rotateCertificates":"needs an API server"');
  expect(line).toContain('featureGates[RotateKubeletServerCertificate]');
});
