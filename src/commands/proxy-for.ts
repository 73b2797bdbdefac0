import { getProxyForUrl } from 'proxy-from-env';
import { isThisMachine } from '../engine/config/http/url.ts';

/**
 * The proxy on the way to a URL, as `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` have it; none to this machine itself.
 * kubelet: the transport of config/http.go, Go's http.ProxyFromEnvironment
 */
export function proxyFor(url: string): string | undefined {
  const { hostname } = new URL(url);
  if (isThisMachine(hostname)) return undefined;
  const proxy = getProxyForUrl(url);
  return proxy === '' ? undefined : proxy;
}
