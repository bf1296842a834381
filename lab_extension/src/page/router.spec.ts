import { describe, expect, it, vi } from 'vitest';
import { addressOf, PageRouter, routeFrom } from './router';

const PREFIX = '/hub-base/services/hai/';

describe('addresses of the page', () => {
  it('name a page, a task and filters, below any prefix', () => {
    const read = (path: string, search = ''): unknown => routeFrom(PREFIX + path, search, PREFIX, 'overview');
    expect(read('')).toEqual({ page: 'overview', id: null, query: {} });
    expect(read('tasks/41', '?tab=performance')).toEqual({
      page: 'tasks',
      id: 41,
      query: { tab: 'performance' }
    });
    expect(read('tasks', '?q=&state=running')).toEqual({
      page: 'tasks',
      id: null,
      query: { state: 'running' }
    });
  });

  it('that are no place of the page lead to none', () => {
    expect(routeFrom(`${PREFIX}tasks/x`, '', PREFIX, 'overview').page).toBe('tasks/x');
  });

  it('are what they were made of', () => {
    const target = { page: 'tasks', id: 41, query: { q: 'a b&c' } };
    const address = new URL(addressOf(target, PREFIX, 'overview'), 'http://hub');
    expect(routeFrom(address.pathname, address.search, PREFIX, 'overview')).toEqual(target);
    expect(addressOf({ page: 'overview' }, PREFIX, 'overview')).toBe(PREFIX);
  });
});

describe('the way back', () => {
  it('leads to the page before, and skips changes of filters', () => {
    history.replaceState(null, '', '/services/hai/');
    const router = new PageRouter('/services/hai/', 'overview');
    const scroll = vi.spyOn(window, 'scrollTo').mockImplementation(() => {});
    const before = history.length;
    router.go({ page: 'tasks' });
    router.go({ page: 'tasks', query: { q: 'x' } }, true);
    expect(history.length).toBe(before + 1);
    expect(scroll).toHaveBeenCalledOnce();
    expect(location.pathname + location.search).toBe('/services/hai/tasks?q=x');
    history.replaceState(null, '', '/services/hai/nodes');
    window.dispatchEvent(new PopStateEvent('popstate'));
    expect(router.route.page).toBe('nodes');
  });
});
