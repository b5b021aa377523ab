"""/metrics: for Prometheus; it needs no key, shows no name, and belongs behind the balancer."""

from litestar import get

from app.services import Services


@get("/metrics", media_type="text/plain; version=0.0.4")
async def metrics(services: Services) -> str:
    """The numbers of all replicas that share this machine's port, in the text format of Prometheus."""
    return services.metrics.render()
