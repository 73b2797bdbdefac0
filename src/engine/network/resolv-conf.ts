import { UserError } from '../../errors.ts';
import type { DNSConfig } from './dns.ts';

/** The kubelet reads at most this much of a resolver file. kubelet: network/dns/dns.go maxResolvConfLength */
const maxResolvConfBytes = 10 * 1024 * 1024;

/**
 * Parses the servers, search list and options of a resolver file. Errors call it `origin`. kubelet: network/dns/dns.go
 * parseResolvConf
 */
export function parseResolvConf(text: string, origin = 'resolv.conf'): DNSConfig {
  if (text.length > maxResolvConfBytes) {
    throw new UserError(`${origin} is larger than ${maxResolvConfBytes} bytes`, {
      hint: 'Name a smaller file with resolvConf (--resolv-conf).',
    });
  }
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [keyword = '', ...values] = line.trim().split(/\s+/);
    switch (keyword) {
      case 'nameserver':
        servers.push(firstServer(values, `${origin}:${index + 1}`));
        break;
      case 'search':
        searches = values.filter((domain) => domain !== '.').map((domain) => domain.replace(/\.$/, ''));
        break;
      case 'options':
        options = withOptions(options, values);
        break;
    }
  }
  return { servers, searches, options };
}

function firstServer([server]: string[], where: string): string {
  if (server === undefined) {
    throw new UserError(`${where}: nameserver without an address`, { hint: 'Put an IP address behind it.' });
  }
  return server;
}

/** A repeated option keeps its position and gets the later value. */
function withOptions(options: readonly string[], added: readonly string[]): string[] {
  const byName = new Map([...options, ...added].map((option) => [option.split(':', 1)[0], option]));
  return [...byName.values()];
}
