import { readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { openJunitReport } from '../../../src/commands/run-once/junit-report.ts';
import type { PodResult } from '../../../src/node/run-once/pod-result.ts';
import { BrokenManifests } from '../../../src/node/sources/read-manifests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { checkJunitSchema } from './check-junit-schema.ts';

const startedAtMs = Date.parse('2026-03-01T10:00:00Z');
const now = startedAtMs + 2500;
const completed: PodResult = { pod: 'default/job', outcome: 'completed', exitCode: 0, message: '', containers: [] };

async function checkedText(path: string): Promise<string> {
  const text = await readFile(path, 'utf8');
  checkJunitSchema(text);
  return text;
}

const failureOf = (lines: string[]): string =>
  ['<?xml version="1.0" encoding="UTF-8"?>', ...lines, '</testsuites>', ''].join('\n');

test('until a run ends, its report holds that it was killed', async () => {
  const path = join(await temporaryFolder(), 'report.xml');
  const report = await openJunitReport(path, startedAtMs);
  expect(await checkedText(path)).toBe(
    failureOf([
      '<testsuites name="kubelet-ts run-once" tests="1" failures="0" errors="1" time="0.000">',
      '  <testsuite name="kubelet-ts run-once" tests="1" failures="0" errors="1" skipped="0" ' +
        'timestamp="2026-03-01T10:00:00" time="0.000">',
      '    <testcase name="run-once" classname="kubelet-ts run-once" time="0.000">',
      '      <error message="the run was killed before it finished" type="Error"/>',
      '    </testcase>',
      '  </testsuite>',
    ]),
  );
  await report.write([completed], now);
  expect(await checkedText(path)).toContain('<testsuite name="default/job" tests="1" failures="0" errors="0"');
  await report.fail(new Error('the summary cannot be written'), now);
  expect(await checkedText(path)).toContain('<testsuite name="default/job"');
});

test('each broken manifest is a failed case with all its errors', async () => {
  const path = join(await temporaryFolder(), 'report.xml');
  const report = await openJunitReport(path, startedAtMs);
  const problems = [
    { origin: '/ci/a.yaml', line: 3, column: 7, field: 'spec.a', message: 'is unknown', severity: 'error' as const },
    { origin: '/ci/b.yaml', message: 'no such file or folder', severity: 'error' as const },
    { origin: '/ci/a.yaml', line: 9, column: 1, message: 'is < 0', severity: 'error' as const },
  ];
  await report.fail(new BrokenManifests(problems, 'nothing was started'), now);
  expect(await checkedText(path)).toBe(
    failureOf([
      '<testsuites name="kubelet-ts run-once" tests="2" failures="2" errors="0" time="2.500">',
      '  <testsuite name="kubelet-ts run-once" tests="2" failures="2" errors="0" skipped="0" ' +
        'timestamp="2026-03-01T10:00:00" time="2.500">',
      '    <testcase name="/ci/a.yaml" classname="manifest" time="0.000">',
      '      <failure message="/ci/a.yaml:3:7: error: spec.a: is unknown" type="BrokenManifest">' +
        '/ci/a.yaml:3:7: error: spec.a: is unknown',
      '/ci/a.yaml:9:1: error: is &lt; 0</failure>',
      '    </testcase>',
      '    <testcase name="/ci/b.yaml" classname="manifest" time="0.000">',
      '      <failure message="/ci/b.yaml: error: no such file or folder" type="BrokenManifest">' +
        '/ci/b.yaml: error: no such file or folder</failure>',
      '    </testcase>',
      '  </testsuite>',
    ]),
  );
});

test('the file behind a link is replaced, and nothing else is left in its folder', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'old.xml'), 'old');
  await symlink('old.xml', join(folder, 'link.xml'));
  const report = await openJunitReport(join(folder, 'link.xml'), startedAtMs);
  await report.write([completed], now);
  expect({
    names: (await readdir(folder)).sort(),
    link: await readlink(join(folder, 'link.xml')),
    text: (await checkedText(join(folder, 'old.xml'))).includes('default/job'),
  }).toEqual({ names: ['link.xml', 'old.xml'], link: 'old.xml', text: true });
});

test('a named pipe gets the report once, at the end', async () => {
  const path = join(await temporaryFolder(), 'pipe');
  await execa('mkfifo', [path]);
  const report = await openJunitReport(path, startedAtMs);
  const [text] = await Promise.all([readFile(path, 'utf8'), report.write([completed], now)]);
  checkJunitSchema(text);
  expect(text.match(/<testsuites/g)).toHaveLength(1);
});

test('a path that cannot be written is refused before the run', async () => {
  const folder = await temporaryFolder();
  await expect(openJunitReport(join(folder, 'none/report.xml'), startedAtMs)).rejects.toMatchObject({
    name: 'UserError',
    message: `--junit: ${join(folder, 'none/report.xml')}: there is no folder ${join(folder, 'none')}`,
    hint: 'Name a file in a folder that exists.',
  });
  await expect(openJunitReport(folder, startedAtMs)).rejects.toMatchObject({
    name: 'UserError',
    message: `--junit: ${folder}: it is a folder`,
  });
});
