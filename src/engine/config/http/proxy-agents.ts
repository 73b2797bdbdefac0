/** A separate module, so that it is loaded only for a proxy. */
export { HttpProxyAgent } from 'http-proxy-agent';
export { HttpsProxyAgent } from 'https-proxy-agent';
