import { describe, expect, test } from 'vitest';
import type { DockerConfig } from '../../../src/engine/images/docker-config.ts';
import { lookUpCredentials, matchesRepository } from '../../../src/engine/images/docker-keyring.ts';

/** A configuration in which the user of each entry is its key. */
const config = (...keys: string[]): DockerConfig =>
  new Map(keys.map((username) => [username, { username, password: 'pw', identityToken: '' }]));

const usersFor = (repository: string, ...configs: DockerConfig[]): string[] =>
  lookUpCredentials(configs, repository).map(({ username }) => username);

describe('a pattern', () => {
  test.each([
    ['registry.example', 'registry.example/team/app', true],
    ['registry.example/team', 'registry.example/team/app', true],
    ['registry.example/te', 'registry.example/team/app', true],
    ['registry.example/other', 'registry.example/team/app', false],
    ['registry.example:5000', 'registry.example:5000/app', true],
    ['registry.example:5000', 'registry.example/app', false],
    ['registry.example', 'registry.example:5000/app', false],
    ['registry.example:*', 'registry.example:5000/app', false],
    ['*.example', 'registry.example/app', true],
    ['*.example', 'eu.registry.example/app', false],
    ['*.registry.*', 'eu.registry.example/app', true],
    ['reg*y.example', 'registry.example/app', true],
    ['r[a-f]gistry.example', 'registry.example/app', true],
    ['r[^a-f]gistry.example', 'registry.example/app', false],
    ['r[egistry.example', 'registry.example/app', false],
    ['r[z-a]gistry.example', 'registry.example/app', false],
    ['registr\\y.example', 'registry.example/app', true],
    ['registry+example', 'registryyexample/app', false],
    ['example', 'registry.example/app', false],
    ['[::1]:5000', '[::1]:5000/app', true],
  ])('%s for %s: %s', (pattern, repository, expected) => {
    expect(matchesRepository(pattern, repository)).toBe(expected);
  });
});

describe('the credentials for a repository', () => {
  test('come with the longest path first, all that fit', () => {
    const keys = ['registry.example', 'registry.example/team/app', 'other.example', 'registry.example/team'];
    expect(usersFor('registry.example/team/app', config(...keys))).toEqual([
      'registry.example/team/app',
      'registry.example/team',
      'registry.example',
    ]);
  });

  test('come with the longest path first, then a host before a pattern, whatever configuration they are in', () => {
    const [path, port, pattern] = ['registry.example:5000/team', 'registry.example:5000', '*.example:5000'];
    const expected = [path, port, pattern];
    expect(usersFor('registry.example:5000/team/app', config(pattern, port, path))).toEqual(expected);
    expect(usersFor('registry.example:5000/team/app', config(pattern), config(port), config(path))).toEqual(expected);
  });

  test.each([
    'https://registry.example',
    'http://registry.example/',
    'https://registry.example/v1/',
    'https://registry.example/v2/',
    'registry.example/v2/app',
    'https://user@registry.example',
  ])('may be under %s', (key) => {
    expect(usersFor('registry.example/app', config(key))).toEqual([key]);
  });

  test('of several configurations under one key are all there, in the order of those', () => {
    const key = 'https://registry.example';
    expect(usersFor('registry.example/app', config('registry.example'), config(key))).toEqual([
      'registry.example',
      key,
    ]);
  });

  test.each([
    ['docker.io/library/busybox', ['https://index.docker.io/v1/'], ['https://index.docker.io/v1/']],
    ['docker.io/library/busybox', ['index.docker.io', 'docker.io'], ['docker.io']],
    ['docker.io/library/busybox', ['registry.example'], []],
    ['registry.example/app', ['index.docker.io'], []],
  ])('%s with %j are those of %j', (repository, keys, expected) => {
    expect(usersFor(repository, config(...keys))).toEqual(expected);
  });
});
