import type { Command } from 'commander';
import { UserError } from '../../errors.ts';
import type { HTTPCredentialFiles } from '../../origins/http/http-credentials.ts';
import { isHTTP } from '../../origins/http/url.ts';
import { collect } from './flags.ts';
import { credentialFiles, parseHeader, refuseLookAlikes, refuseSharedCredentials } from './url-credentials.ts';

/** The parsed flags of status URLs. */
export interface StatusURLOptions {
  /** May contain user, password and query, which must not be shown. */
  statusURLs: string[];
  /** Headers sent to all URLs. */
  statusURLHeaders: [name: string, value: string][];
  statusURLFiles: HTTPCredentialFiles;
}

/** Flags of status URLs, as parsed by commander. */
export interface StatusURLFlags {
  statusUrl?: string[];
  statusUrlHeader?: string[];
  statusUrlCaFile?: string;
  statusUrlCertFile?: string;
  statusUrlKeyFile?: string;
  statusUrlTokenFile?: string;
}

const urlFlag = '--status-url';

/** Throws a UserError for invalid flags. Its text omits the values because they may be secrets. */
export function statusURLOptions(flags: StatusURLFlags): StatusURLOptions {
  const urls = (flags.statusUrl ?? []).filter((url) => url !== '').map(parseURL);
  refuseLookAlikes(urls, urlFlag);
  const headers = (flags.statusUrlHeader ?? []).map((text) => parseHeader(text, urlFlag));
  const files = credentialFiles(urlFlag, {
    ca: flags.statusUrlCaFile,
    cert: flags.statusUrlCertFile,
    key: flags.statusUrlKeyFile,
    token: flags.statusUrlTokenFile,
  });
  refuseSharedCredentials(urls, headers, files);
  return { statusURLs: urls.map(({ href }) => href), statusURLHeaders: headers, statusURLFiles: files };
}

function parseURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && isHTTP(url)) return url;
  throw new UserError('--status-url must begin with https:// or http://', {
    hint: 'Name the server that receives the status, such as https://home.example/status.',
  });
}

/** Adds the flags of status URLs. */
export function addStatusURLOptions(command: Command): Command {
  return command
    .option('--status-url <url>', 'server that the state of the node and its events are posted to; repeatable', collect)
    .option('--status-url-header <name:value>', 'header sent to the status URLs; repeatable', collect)
    .option('--status-url-ca-file <path>', 'authorities to trust instead of the well-known ones')
    .option('--status-url-cert-file <path>', 'client certificate for the status URLs')
    .option('--status-url-key-file <path>', 'key of the client certificate')
    .option('--status-url-token-file <path>', 'bearer token for the status URLs');
}
