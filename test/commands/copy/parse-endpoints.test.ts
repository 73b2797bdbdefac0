import { expect, test } from 'vitest';
import { parseEndpoints, sourceOf, targetOf } from '../../../src/commands/copy/parse-endpoints.ts';

test.each([
  ['web:/a', './b', { direction: 'fromPod', pod: 'web', podPath: '/a', localPath: './b' }],
  ['./b', 'ns/web:a:b', { direction: 'toPod', pod: 'ns/web', podPath: 'a:b', localPath: './b' }],
  ['./a:b', 'web:/a', { direction: 'toPod', pod: 'web', podPath: '/a', localPath: './a:b' }],
  ['~/a:b', 'web:/a', { direction: 'toPod', pod: 'web', podPath: '/a', localPath: '~/a:b' }],
  ['/a:b', 'web:/a', { direction: 'toPod', pod: 'web', podPath: '/a', localPath: '/a:b' }],
])('cp %s %s', (from, to, request) => {
  expect(parseEndpoints(from, to)).toEqual(request);
});

test.each([
  ['web:/a', 'db:/a', 'both paths are in pods'],
  ['a', 'b', 'neither path is in a pod'],
  ['web:', 'b', 'a path is empty'],
  ['', 'web:/b', 'a path is empty'],
  [':/a', 'b', 'neither path is in a pod'],
])('cp %j %j is refused', (from, to, message) => {
  expect(() => parseEndpoints(from, to)).toThrow(message);
});

test.each([
  ['/etc/hosts', { folder: '/etc', name: 'hosts' }],
  ['hosts', { folder: '.', name: 'hosts' }],
  ['/etc/', { folder: '/', name: 'etc' }],
  ['/etc/.', { folder: '/etc/.', name: undefined }],
  ['.', { folder: '.', name: undefined }],
  ['..', { folder: '..', name: undefined }],
  ['/', { folder: '/', name: undefined }],
  ['-rf', { folder: '.', name: '-rf' }],
])('the source %s', (path, source) => {
  expect(sourceOf(path)).toEqual(source);
});

test.each([
  ['a', 'to', true, { folder: 'to', name: 'a' }],
  ['a', 'to', false, { folder: '.', name: 'to' }],
  ['a/.', 'to', true, { folder: 'to', name: undefined }],
  ['a/.', '/x/to/', false, { folder: '/x', name: 'to' }],
])('%s goes to %s, which is a folder: %s', (from, to, isFolder, target) => {
  expect(targetOf(sourceOf(from), to, isFolder)).toEqual(target);
});

test('a path with a slash at its end is a folder', () => {
  expect(() => targetOf(sourceOf('a'), 'to/', false)).toThrow('there is no folder to/');
});
