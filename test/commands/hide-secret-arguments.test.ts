import { expect, test } from 'vitest';
import { shownArguments } from '../../src/commands/hide-secret-arguments.ts';

test('what may be secret in URLs and headers is not shown', () => {
  const argv = [
    ...['node', 'kubelet-ts', 'run', 'pods/', '--root-dir=/r'],
    ...['--manifest-url', 'https://me:s3cret@box.example/pods.yaml?token=s3cret#site'],
    '--manifest-url=https://box.example/more.yaml?s3cret',
    ...['--manifest-url-header', 'Authorization: Bearer s3cret', '--manifest_url_header=X-Key:s3cret'],
    ...['--manifest-url-token-file', '/run/token'],
    ...['--status-url', 'https://me:s3cret@home.example/?s3cret', '--status-url-header=X-Key: s3cret'],
  ];
  expect(shownArguments(argv)).toEqual([
    ...['node', 'kubelet-ts', 'run', 'pods/', '--root-dir=/r'],
    ...['--manifest-url', 'https://box.example/pods.yaml?…#site'],
    '--manifest-url=https://box.example/more.yaml?…',
    ...['--manifest-url-header', 'Authorization: …', '--manifest_url_header=X-Key: …'],
    ...['--manifest-url-token-file', '/run/token'],
    ...['--status-url', 'https://home.example/?…', '--status-url-header=X-Key: …'],
  ]);
});

test('arguments without secrets stay as they are', () => {
  const argv = ['node', 'kubelet-ts', 'run', '--manifest-url', 'https://box.example/pods.yaml', 'https://me:pw@x'];
  expect(shownArguments(argv)).toEqual(argv);
});

test('values of variables are not shown', () => {
  const run = ['node', 'kubelet-ts', 'run-once', 'job.yaml'];
  const given = ['-e', 'TOKEN=s3cret=1', '--env', 'HOME', '--env=A=s3cret', '-eB=s3cret', '--env-file', 'a=b'];
  const shown = ['-e', 'TOKEN=…', '--env', 'HOME', '--env=A=…', '-eB=…', '--env-file', 'a=b'];
  expect(shownArguments([...run, ...given])).toEqual([...run, ...shown]);
});

test('values of variables of debug are not shown', () => {
  const run = ['node', 'kubelet-ts', 'debug', 'web'];
  const given = ['--env', 'TOKEN=s3cret=1', '--env=A=s3cret', '--image', 'app:1', '--', 'sh', '-e', 'B=c'];
  const shown = ['--env', 'TOKEN=…', '--env=A=…', '--image', 'app:1', '--', 'sh', '-e', 'B=c'];
  expect(shownArguments([...run, ...given])).toEqual([...run, ...shown]);
});
