import { validateHeaderName, validateHeaderValue } from 'node:http';
import { resolve } from 'node:path';
import { UserError } from '../../errors.ts';
import type { HTTPCredentialFiles } from '../../origins/http/http-credentials.ts';
import { isHTTP, shownURL } from '../../origins/http/url.ts';

/** A flag for URLs. The flags for their credentials begin with its name. */
export type URLFlag = '--manifest-url' | '--status-url' | '--url';

/** Throws a UserError for URLs that differ only in their queries, because queries are not shown. */
export function refuseLookAlikes(urls: readonly URL[], flag: URLFlag): void {
  const shown = urls.map((url) => (isHTTP(url) ? shownURL(url) : url.href));
  const twice = shown.find((url, index) => shown.indexOf(url) !== index);
  if (twice === undefined) return;
  throw new UserError(`two ${flag} are ${twice}`, {
    hint: 'If they differ in their queries, append a name to each: …#site and …#fleet',
  });
}

/** Throws a UserError that omits the value, because it may be a secret. */
export function parseHeader(text: string, flag: URLFlag): [name: string, value: string] {
  const colon = text.indexOf(':');
  const [name, value] = [text.slice(0, Math.max(0, colon)).trim(), text.slice(colon + 1).trim()];
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new UserError(`${flag}-header must be NAME:VALUE`, {
      hint: "Write it in quotes on one line, such as 'X-Site: edge1'.",
    });
  }
  return [name, value];
}

/** The files that flags name. Throws a UserError for half of a client certificate. */
export function credentialFiles(
  flag: URLFlag,
  { ca = '', cert = '', key = '', token = '' }: Partial<Record<'ca' | 'cert' | 'key' | 'token', string | undefined>>,
): HTTPCredentialFiles {
  if ((cert === '') !== (key === '')) {
    const [missing, given] = cert === '' ? ['cert', 'key'] : ['key', 'cert'];
    throw new UserError(`${flag}-cert-file and ${flag}-key-file go together`, {
      hint: `Add ${flag}-${missing}-file, or leave out ${flag}-${given}-file.`,
    });
  }
  return {
    ...(ca !== '' && { caFile: resolve(ca) }),
    ...(cert !== '' && { certFile: resolve(cert) }),
    ...(key !== '' && { keyFile: resolve(key) }),
    ...(token !== '' && { tokenFile: resolve(token) }),
  };
}

/** Throws a UserError if credentials would go to several servers. */
export function refuseSharedCredentials(
  urls: readonly URL[],
  headers: readonly unknown[],
  { keyFile, tokenFile }: HTTPCredentialFiles,
): void {
  const [one, other] = new Set(urls.map(({ origin }) => origin));
  if (one === undefined || other === undefined) return;
  if (headers.length === 0 && tokenFile === undefined && keyFile === undefined) return;
  throw new UserError(`headers, token and client certificate are for one server, not for ${one} and ${other}`, {
    hint: 'Give URLs of one server, or user and password in each URL: https://USER:PASSWORD@…',
  });
}
