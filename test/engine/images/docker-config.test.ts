import { describe, expect, test } from 'vitest';
import { parseDockercfg, parseDockerConfigJSON } from '../../../src/engine/images/docker-config.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const ada = { username: 'ada', password: 'pw', identityToken: '' };

describe('config.json', () => {
  test.each([
    ['user and password in base64', { auth: base64('ada:pw') }, ada],
    ['the same without padding', { auth: base64('ada:pw').replace(/=+$/, '') }, ada],
    ['the same with a line break at its end', { auth: `${base64('ada:pw')}\n` }, ada],
    ['user and password in the open', { username: 'ada', password: 'pw', email: 'ada@example.com' }, ada],
    ['a password with colons', { auth: base64('ada:p:w') }, { ...ada, password: 'p:w' }],
    ['both forms, of which base64 counts', { auth: base64('ada:pw'), username: 'bob', password: 'x' }, ada],
    ['a token', { auth: base64('0:'), identitytoken: 't' }, { username: '0', password: '', identityToken: 't' }],
  ])('holds %s', (_, entry, expected) => {
    const text = JSON.stringify({ auths: { 'registry.example': entry } });
    expect(parseDockerConfigJSON(text)).toEqual(new Map([['registry.example', expected]]));
  });

  test('may have other fields, no entries, and entries for a credential store', () => {
    expect(parseDockerConfigJSON('{"credsStore": "desktop", "auths": null}')).toEqual(new Map());
    expect(parseDockerConfigJSON('{"auths": {"registry.example": {}}}')).toEqual(new Map());
    expect(parseDockerConfigJSON('{}')).toEqual(new Map());
  });

  test.each([
    ['{"auths": {"r": {"auth": "c2VjcmV0', 'is not a JSON object'],
    ['[]', 'is not a JSON object'],
    ['{"auths": []}', 'auths is not an object'],
    ['{"auths": {"r": "c2VjcmV0"}}', 'auths["r"] is not an object'],
    ['{"auths": {"r": {"password": 12345}}}', 'auths["r"].password is not a string'],
    ['{"auths": {"r": {"auth": "%c2VjcmV0"}}}', 'auths["r"].auth is not the base64 of user:password'],
    ['{"auths": {"r": {"auth": "c2VjcmV0"}}}', 'auths["r"].auth is not the base64 of user:password'],
  ])('%j is refused without a word of what it holds', (text, message) => {
    expect(() => parseDockerConfigJSON(text)).toThrow(new Error(message));
  });
});

test('.dockercfg is the same without auths around it', () => {
  expect(parseDockercfg(JSON.stringify({ r: { auth: base64('ada:pw') } }))).toEqual(new Map([['r', ada]]));
  expect(() => parseDockercfg('{"r": 1}')).toThrow(new Error('["r"] is not an object'));
});
